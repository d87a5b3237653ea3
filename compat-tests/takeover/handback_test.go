//go:build compat

package takeover

import (
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// byName is the versions in which topics go by name in every request that the tests send.
func byName() *kversion.Versions { return kversion.V3_0_0() }

// signals are the two ways in which a server ends.
var signals = map[string]syscall.Signal{"terminated": syscall.SIGTERM, "killed": syscall.SIGKILL}

// fill is what a cluster holds before it is handed over for the first time.
func (w *work) fill() {
	w.t.Helper()
	w.createTopic(plainTopic, 3, smallSegments, smallIndexes, denseIndexes)
	w.createTopic(compactTopic, 1, smallSegments, smallIndexes, denseIndexes, compactedTopic, neverCompact)
	w.createTopic(doomedTopic, 2)
	w.produce(plainTopic, 3, 60)
	w.produce(compactTopic, 1, 100)
	w.produce(doomedTopic, 2, 10)
	w.commit("admin", plainTopic, 0, 17)
	w.commit("admin", plainTopic, 1, 3)
	w.consume("readers", plainTopic, 3*5*60)
	w.alter(kmsg.ConfigResourceTypeTopic, plainTopic, "retention.bytes=1000000000")
	w.alter(kmsg.ConfigResourceTypeBroker, "1", "log.cleaner.threads=1")
	w.alter(kmsg.ConfigResourceTypeBroker, "", "message.max.bytes=1000000")
}

// change does one of everything that changes a cluster.
func (w *work) change(round string) {
	w.t.Helper()
	own := "made-" + round
	w.createTopic(own, 2, smallSegments, denseIndexes, "retention.ms=100000000")
	w.produce(own, 2, 30)
	w.produce(plainTopic, 3, 40)
	w.produce(compactTopic, 1, 50)
	w.addPartitions(own, 4)
	w.deleteRecords(plainTopic, 1, 101)
	w.alter(kmsg.ConfigResourceTypeTopic, plainTopic, "retention.bytes=2000000000", "max.message.bytes=900000")
	w.alter(kmsg.ConfigResourceTypeBroker, "", "message.max.bytes=1100000")
	w.commit("admin", plainTopic, 0, 40)
	w.commit("committed-"+round, own, 1, 5)
	w.consume("readers-"+round, own, 2*5*30)
	if round == "first" {
		w.deleteTopic(doomedTopic)
	}
}

// TestHandBack: Kafka fills a directory, ottla goes on with it, and Kafka goes on from there, and ottla again. Each
// must show what the one before showed, and kafka-dump-log finds nothing wrong with any file that ottla wrote.
func TestHandBack(t *testing.T) {
	for name, signal := range signals {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.format()
			k := s.kafka()
			w := k.work(1)
			w.fill()
			w.createTopic(txnTopic, 1, smallSegments, denseIndexes)
			w.transactions(txnTopic)
			before := k.view()
			k.end(signal)

			before = s.goOn("ottla takes over", signal, "first", before)
			before = s.backToKafka("Kafka takes back", signal, before)
			s.goOn("ottla again", signal, "second", before)
		})
	}
}

// TestBornInOttla: a directory that ottla made is Kafka's too.
func TestBornInOttla(t *testing.T) {
	for name, signal := range signals {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			o := s.ottla()
			w := o.work(2)
			w.fill()
			before := o.view()
			o.end(signal)
			s.dumpLog(compactTopic, "__consumer_offsets")
			before = s.goOn("ottla starts again", signal, "first", before)
			before = s.backToKafka("Kafka takes over", signal, before)
			s.goOn("ottla takes back", signal, "second", before)
		})
	}
}

// goOn runs ottla on a directory that showed before, changes things, and says what it shows in the end.
func (s *site) goOn(what string, signal syscall.Signal, round string, before []string) []string {
	s.t.Helper()
	o := s.ottla()
	same(s.t, what, o.view(), before)
	o.work(3).change(round)
	after := o.view()
	o.end(signal)
	for _, l := range o.errors() {
		s.t.Errorf("%s: %s", what, l)
	}
	s.dumpLog(compactTopic, "__consumer_offsets")
	return after
}

// backToKafka runs Kafka on a directory of ottla's.
func (s *site) backToKafka(what string, signal syscall.Signal, before []string) []string {
	s.t.Helper()
	k := s.kafka()
	same(s.t, what, k.view(), before)
	k.work(4).produce(plainTopic, 3, 20)
	k.work(5).commit("admin", plainTopic, 2, 9)
	after := k.view()
	k.end(signal)
	for _, l := range k.errors() {
		s.t.Errorf("%s: %s", what, l)
	}
	return after
}
