package config

// The Validate functions check the whole set of values a resource is about to have. The error is a
// *protocol.Fault with INVALID_CONFIG and one sentence that names key and value.

// ValidateTopic checks a topic's overrides together with what it inherits from broker.
func ValidateTopic(overrides map[string]string, broker Layers) error { panic("being written") }

// ValidateBroker checks dynamic broker settings, of one broker or (perBroker false) of all.
func ValidateBroker(settings map[string]string, perBroker bool, broker Layers) error {
	panic("being written")
}

// ValidateGroup checks a group's overrides against the bounds that the broker sets.
func ValidateGroup(overrides map[string]string, broker Layers) error { panic("being written") }

// ValidateClientMetrics checks a client metrics subscription (KIP-714).
func ValidateClientMetrics(settings map[string]string) error { panic("being written") }

// NullValue is the fault for a null value in CreateTopics, AlterConfigs or a SET or APPEND of IncrementalAlterConfigs.
func NullValue(s Scope, name string) error { panic("being written") }
