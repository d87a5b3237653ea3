package rsm

import (
	"testing"
	"time"
)

func BenchmarkDo(b *testing.B) {
	l := &memLog{}
	s := NewShard(options(l))
	defer s.Close()
	s.Load(1)
	for st, _ := s.State(); st != Active; st, _ = s.State() {
		time.Sleep(time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := write(s, "r"); err != nil {
			b.Fatal(err)
		}
	}
}
