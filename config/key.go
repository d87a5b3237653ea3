// Package config is the registry of Apache Kafka 4.4's settings: for every key its type,
// default, valid values, synonyms, dynamic mode, documentation and how far ottla honours it;
// the reader of Java properties files; and the resolution of an effective value from the
// file, the dynamic settings in the metadata log and the overrides of a topic or group.
//
// The tables are static data. Nothing is computed before main runs.
package config

// Type is a setting's type with the code DescribeConfigs carries since version 3 (KIP-569).
type Type int8

const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9
)

// Scope is the kind of resource a setting belongs to, with the code of ConfigResource.
type Scope int8

const (
	ScopeTopic         Scope = 2
	ScopeBroker        Scope = 4
	ScopeClientMetrics Scope = 16
	ScopeGroup         Scope = 32
)

// String is the name Kafka's tools and messages use for the scope.
func (s Scope) String() string {
	switch s {
	case ScopeTopic:
		return "topic"
	case ScopeBroker:
		return "broker"
	case ScopeClientMetrics:
		return "client-metrics"
	case ScopeGroup:
		return "group"
	}
	return "unknown"
}

// Mode says how a broker setting may change while the broker runs (KIP-226).
type Mode int8

const (
	ReadOnly    Mode = iota // only in the file, at start
	PerBroker               // for one broker, by its id
	ClusterWide             // for one broker, or for all with the empty broker name
)

// Support says what ottla does with a key that Kafka knows.
type Support int8

const (
	Supported  Support = iota
	Irrelevant         // accepted; it tunes something that does not exist here, Why says what
	Refused            // known, not built: a value other than the default stops the start, Why says what is missing
)

// Key is one setting. All of its fields are constant.
type Key struct {
	Name string
	Type Type
	// Default is the value when nothing sets the key, in the text form that DescribeConfigs
	// prints. Null means that there is none and DescribeConfigs answers null.
	Default string
	Null    bool
	Valid   *Check // nil: every value of the type is valid
	Mode    Mode
	// Synonyms of a topic or group key are the broker keys it inherits from; of a broker key,
	// other broker keys in its place (log.retention.hours). Order is precedence.
	Synonyms []Inherit
	Support  Support
	Why      string
	Internal bool // accepted, but described only where it is set
	Doc      string
}

// Inherit names a broker key from which a value is taken, and the unit to convert from.
type Inherit struct {
	Name string
	// Times multiplies the inherited number (60000 for minutes to milliseconds); 0 means as it is.
	Times int64
}

// Sensitive reports whether the value must never be shown.
func (k *Key) Sensitive() bool { return k.Type == Password }
