package quorum

import (
	"fmt"
	"io"
	"log"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// raftLog writes the Raft library's log lines to zap. The library is talkative about what is ordinary for it, so its
// lines sink: its warnings are debug lines here, its errors warnings; what an operator must know the Node says itself.
type raftLog struct {
	zap  *zap.Logger
	name string
	args []any
}

var _ hclog.Logger = raftLog{}

func zapLevel(l hclog.Level) zapcore.Level {
	if l >= hclog.Error {
		return zapcore.WarnLevel
	}
	return zapcore.DebugLevel
}

// Log writes a line unless its level is off.
func (r raftLog) Log(level hclog.Level, text string, args ...any) {
	if level == hclog.Trace {
		return
	}
	if e := r.zap.Check(zapLevel(level), "raft: "+text); e != nil {
		e.Write(fields(append(append([]any(nil), r.args...), args...))...)
	}
}

func fields(args []any) []zap.Field {
	out := make([]zap.Field, 0, len(args)/2)
	for i := 0; i+1 < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			continue
		}
		switch v := args[i+1].(type) {
		case hclog.Format: // a format and what goes into it
			if format, ok := v[0].(string); ok {
				out = append(out, zap.String(key, fmt.Sprintf(format, v[1:]...)))
			}
		default:
			out = append(out, zap.Any(key, v))
		}
	}
	return out
}

func (r raftLog) Trace(text string, args ...any) { r.Log(hclog.Trace, text, args...) }
func (r raftLog) Debug(text string, args ...any) { r.Log(hclog.Debug, text, args...) }
func (r raftLog) Info(text string, args ...any)  { r.Log(hclog.Info, text, args...) }
func (r raftLog) Warn(text string, args ...any)  { r.Log(hclog.Warn, text, args...) }
func (r raftLog) Error(text string, args ...any) { r.Log(hclog.Error, text, args...) }

func (r raftLog) enabled(l hclog.Level) bool { return r.zap.Core().Enabled(zapLevel(l)) }

func (r raftLog) IsTrace() bool { return false }
func (r raftLog) IsDebug() bool { return r.enabled(hclog.Debug) }
func (r raftLog) IsInfo() bool  { return r.enabled(hclog.Info) }
func (r raftLog) IsWarn() bool  { return r.enabled(hclog.Warn) }
func (r raftLog) IsError() bool { return r.enabled(hclog.Error) }

func (r raftLog) ImpliedArgs() []any { return r.args }
func (r raftLog) Name() string       { return r.name }

func (r raftLog) With(args ...any) hclog.Logger {
	r.args = append(append([]any(nil), r.args...), args...)
	return r
}

func (r raftLog) Named(name string) hclog.Logger      { r.name = name; return r }
func (r raftLog) ResetNamed(name string) hclog.Logger { return r.Named(name) }

// SetLevel does nothing: the level is zap's.
func (r raftLog) SetLevel(hclog.Level) {}

func (r raftLog) GetLevel() hclog.Level {
	if r.IsDebug() {
		return hclog.Debug
	}
	return hclog.Error
}

// StandardLogger is for libraries below Raft; none is in use.
func (r raftLog) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(r.StandardWriter(o), "", 0)
}

func (r raftLog) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return io.Discard }
