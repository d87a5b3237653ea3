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
	Pending            // accepted, checked and described; what it governs is not built yet, Why says what
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
	// PerListener keys change at run time only with a listener prefix: listener.name.<listener>.<key>.
	PerListener bool
	// Synonyms of a topic or group key are the broker keys it inherits from; of a broker key, itself
	// among the broker keys that stand for one setting (log.retention.hours). Order is precedence.
	Synonyms []Inherit
	Support  Support
	Why      string
	Internal bool // accepted, but described only where it is set
	// OnlyDynamic keys are set while running, never in the file.
	OnlyDynamic bool
	Doc         string
}

// Inherit names a broker key from which a value is taken, and the unit to convert from.
type Inherit struct {
	Name string
	// Millis is the length of the broker key's unit. Where it is set, a negative number, which
	// means without end, becomes -1. Zero takes the value as it is.
	Millis int64
}

// The inherited durations that have several units. The first that is set counts.
var (
	retentionFrom = []Inherit{{Name: "log.retention.ms", Millis: 1}, {Name: "log.retention.minutes", Millis: 60_000}, {Name: "log.retention.hours", Millis: 3_600_000}}
	rollFrom      = []Inherit{{Name: "log.roll.ms", Millis: 1}, {Name: "log.roll.hours", Millis: 3_600_000}}
	jitterFrom    = []Inherit{{Name: "log.roll.jitter.ms", Millis: 1}, {Name: "log.roll.jitter.hours", Millis: 3_600_000}}
	flushFrom     = []Inherit{{Name: "log.flush.interval.ms"}, {Name: "log.flush.scheduler.interval.ms"}}
)

// The reasons shared by several keys for which Support is not Supported. Each ends a sentence.
const (
	whyThreads         = "connections and groups are goroutines here; there is no pool of threads to size"
	whyPurgatory       = "a waiting request is dropped the moment it is answered; nothing is swept"
	whyLinger          = "operations that queued while the log was busy go into one batch; nothing waits for more"
	whyJMX             = "there is no JMX; metrics are not sampled in windows"
	whyRaft            = "consensus has its own timing while the quorum is this node alone"
	whyMetadataLog     = "it is a test setting of Kafka's metadata log"
	whyControllerTimes = "the controller does not log its event times yet"
	whyCluster         = "clusters of several nodes are not built yet"
	whyQuota           = "quotas are not built yet"
	whyCleaner         = "compaction is not built yet: compacted topics keep every record"
	whyShare           = "share groups (KIP-932) are not built yet"
	whyStreams         = "streams groups (KIP-1071) are not built yet"
	whyTiered          = "tiered storage (KIP-405) is not built"
	whyTelemetry       = "client metrics (KIP-714) are not built yet"
	whyTLS             = "TLS is not built yet"
	whySASL            = "SASL is not built yet"
	whyACL             = "authorisation is not built yet"
	whyTokens          = "delegation tokens are not built yet"
	whyPlugin          = "Java classes cannot be loaded"
)

// Sensitive reports whether the value must never be shown.
func (k *Key) Sensitive() bool { return k.Type == Password }
