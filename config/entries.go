package config

// Source is where a value comes from, with DescribeConfigs' codes (KIP-226, KIP-569).
type Source int8

const (
	SourceTopic         Source = 1
	SourceBroker        Source = 2 // dynamic, this broker
	SourceBrokerDefault Source = 3 // dynamic, all brokers
	SourceStatic        Source = 4 // the file
	SourceDefault       Source = 5
	SourceBrokerLogger  Source = 6
	SourceClientMetrics Source = 7
	SourceGroup         Source = 8
)

// Entry is one setting as DescribeConfigs answers it. Value is nil for null and for sensitive keys.
type Entry struct {
	Name      string
	Value     *string
	Source    Source
	Type      Type
	ReadOnly  bool
	Default   bool // version 0's is_default
	Sensitive bool
	Synonyms  []Synonym // of a topic or group: the override itself first
	Doc       string
}

// Synonym is one of the places a value could come from, the winner first.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Entries lists what DescribeConfigs answers for the resource, sorted by name; names, when not empty,
// keeps only those keys, and unknown ones are left out.
func (v Values) Entries(names []string) []Entry { panic("being written") }

// BrokerDefaults lists what DescribeConfigs answers for broker "": the dynamic settings of all brokers.
func (l Layers) BrokerDefaults(names []string) []Entry { panic("being written") }
