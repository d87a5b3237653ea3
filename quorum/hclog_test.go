package quorum

import (
	"errors"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestRaftsLogLines(t *testing.T) {
	core, lines := observer.New(zap.DebugLevel)
	l := raftLog{zap: zap.New(core)}.With("id", 7)
	f := func(level hclog.Level, want zapcore.Level, args ...any) map[string]any {
		t.Helper()
		l.Log(level, "text", args...)
		all := lines.TakeAll()
		if len(all) != 1 || all[0].Level != want || all[0].Message != "raft: text" {
			t.Fatalf("%v", all)
		}
		return all[0].ContextMap()
	}
	f(hclog.Debug, zap.DebugLevel)
	f(hclog.Info, zap.DebugLevel)
	f(hclog.Warn, zap.DebugLevel)
	got := f(hclog.Error, zap.WarnLevel, "error", errors.New("why"), "list", hclog.Fmt("%d-%s", 1, "a"), 5, "no key", "odd one out")
	if len(got) != 3 || got["error"] != "why" || got["list"] != "1-a" || got["id"] != int64(7) {
		t.Fatalf("%v", got)
	}
	l.Trace("never")
	if lines.Len() != 0 {
		t.Fatal(lines.All())
	}
}
