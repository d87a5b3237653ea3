package main

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ottla/ottla/config"
)

// logLevel is what ottla.log.level asks for. It changes while the server runs when an administrator
// alters the broker's logger.
func logLevel(c *config.Static) zap.AtomicLevel {
	level, err := zapcore.ParseLevel(c.LogLevel)
	if err != nil {
		level = zapcore.InfoLevel // config.Load lets no other text through
	}
	return zap.NewAtomicLevelAt(level)
}

// newLogger writes lines for people: time, level, what happened, then details as JSON.
func newLogger(w io.Writer, level zapcore.LevelEnabler) *zap.Logger {
	line := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
		TimeKey: "time", LevelKey: "level", NameKey: "logger", MessageKey: "message",
		EncodeTime:       zapcore.TimeEncoderOfLayout("2006-01-02 15:04:05.000"),
		EncodeLevel:      padLevel,
		EncodeDuration:   zapcore.StringDurationEncoder,
		EncodeName:       zapcore.FullNameEncoder,
		ConsoleSeparator: " ",
	})
	return zap.New(zapcore.NewCore(line, zapcore.Lock(zapcore.AddSync(w)), level))
}

// padLevel makes messages begin in one column.
func padLevel(l zapcore.Level, out zapcore.PrimitiveArrayEncoder) {
	text := l.CapitalString()
	for len(text) < 5 {
		text += " "
	}
	out.AppendString(text)
}
