package config

// LogLevel is the setting that chooses which log lines are written.
const LogLevel = "ottla.log.level"

// ottlaKeys are the settings that Kafka does not have. They are described only where they are set.
var ottlaKeys = []Key{
	{Name: LogLevel, Type: String, Default: "info", Valid: &Check{Kind: oneOf, OneOf: []string{"debug", "info", "warn", "error"}}, Internal: true,
		Doc: "Least important log lines that are written."},
}
