package config

// Layers are the settings one node runs with: its file, and the dynamic settings that the
// metadata log holds for all brokers and for this one. A Layers is a value; whoever keeps one
// replaces it whole when metadata changes. The maps are never written after they were given.
type Layers struct {
	Static  *Static
	Default map[string]string // resource broker "", for all brokers
	Own     map[string]string // resource broker with this node's id
}

// Values answers the effective values of one resource.
type Values struct {
	scope     Scope
	overrides map[string]string // of the topic, group or subscription
	layers    Layers
}

// Broker is the node's effective settings.
func (l Layers) Broker() Values { panic("being written") }

// Topic is the effective settings of a topic with these overrides.
func (l Layers) Topic(overrides map[string]string) Values { panic("being written") }

// Group is the effective settings of a group with these overrides.
func (l Layers) Group(overrides map[string]string) Values { panic("being written") }

// ClientMetrics is the settings of a client metrics subscription (KIP-714).
func ClientMetrics(overrides map[string]string) Values { panic("being written") }

// The getters panic when the name is not a key of the scope or not of the type: that is a
// mistake in the program. A value in a dynamic layer that does not parse counts as unset.

func (v Values) Bool(name string) bool      { panic("being written") }
func (v Values) Int(name string) int32      { panic("being written") } // Int and Short keys
func (v Values) Long(name string) int64     { panic("being written") } // Long, Int and Short keys
func (v Values) Double(name string) float64 { panic("being written") }
func (v Values) String(name string) string  { panic("being written") } // "" when null; String, Class and Password keys
func (v Values) List(name string) []string  { panic("being written") } // trimmed, empty entries dropped

// IsNull reports that nothing sets the key and that it has no default.
func (v Values) IsNull(name string) bool { panic("being written") }

// Text is the effective value as DescribeConfigs prints it, and whether there is one.
func (v Values) Text(name string) (string, bool) { panic("being written") }
