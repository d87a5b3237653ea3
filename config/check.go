package config

// Check is the rule a value must satisfy beyond its type.
type Check struct{}
