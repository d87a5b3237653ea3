package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/testserver"
)

// cut takes the last n batches off a partition's log of a server that was killed, as
// if it had died before they were written.
func cut(t *testing.T, p *testserver.Process, topic string, n int) {
	t.Helper()
	path := filepath.Join(partitionDir(p, topic, 0), "00000000000000000000.log")
	b := readFile(t, path)
	all := split(t, b)
	size := 0
	for _, x := range all[:len(all)-n] {
		size += len(x.raw)
	}
	write(t, path, b[:size])
}

// TestKilledInEveryState kills the server with a transaction in each state, between
// any two of the records that end it.
func TestKilledInEveryState(t *testing.T) {
	for _, commit := range []bool{true, false} {
		for _, x := range []struct {
			name            string
			state           int // records lacking in __transaction_state
			data, offsets   bool
			before, atStart string // states
		}{
			{"open", 2, true, true, "Ongoing", "Ongoing"},
			{"decided with no marker", 1, true, true, "Prepare", "Complete"},
			{"decided with one marker", 1, false, true, "Prepare", "Complete"},
			{"decided with all markers", 1, false, false, "Prepare", "Complete"},
			{"complete", 0, false, false, "Complete", "Complete"},
		} {
			t.Run(fmt.Sprintf("%s/commit=%v", x.name, commit), func(t *testing.T) {
				p := own(t, "transaction.state.log.num.partitions=1", "offsets.topic.num.partitions=1")
				c := dial(t, p.Addr)
				createTopic(c, "t", 1)
				findCoordinator(c, "g")
				tx := startTxn(c, "x", time.Minute)
				eq(t, "produce", tx.produce(12, "t", "a").ErrorCode, 0)
				o := offset{"t", 0, 7}
				eq(t, "offset", tx.commitOffsets(5, "g", o)[o], 0)
				eq(t, "end", tx.endAs(5, commit, tx.pid, 0).ErrorCode, 0)
				tx.settled()
				p.Kill()
				if x.state > 0 {
					cut(t, p, "__transaction_state", x.state)
				}
				if x.data {
					cut(t, p, "t", 1)
				}
				if x.offsets {
					cut(t, p, "__consumer_offsets", 1)
				}
				for _, f := range []string{"recovery-point-offset-checkpoint", "replication-offset-checkpoint"} {
					os.Remove(filepath.Join(p.Data, f))
				}
				if err := p.Start(); err != nil {
					t.Fatal(err)
				}
				c = dial(t, p.Addr)
				findCoordinator(c, "g")
				tx2 := newTxn(c, "x")
				tx2.pid, tx2.epoch = tx.pid, 0
				outcome := map[bool]string{true: "Commit", false: "Abort"}[commit]
				if x.atStart == "Ongoing" {
					tx2.awaitState("Ongoing")
					eq(t, "stable offset", fetchCommitted(c, "t", 0).LastStableOffset, 0)
					_, code := fetchOffset(c, "g", true, "t", 0)
					eq(t, "stable offset of the group", code, 88)
					eq(t, "more", tx2.send(12, "t", tx.again("t", 1, "b")).ErrorCode, 0)
				} else {
					tx2.awaitState("Complete" + outcome)
				}
				// The client has not seen the answer, or sends it again anyway.
				eq(t, "end", tx2.endAs(5, commit, tx.pid, 0).ErrorCode, 0)
				tx2.awaitState("Complete" + outcome)
				want := []string{}
				if commit {
					want = append(want, "a")
					if x.atStart == "Ongoing" {
						want = append(want, "b")
					}
				}
				if got := visible(c, "t"); !slices.Equal(got, want) {
					t.Errorf("visible: %v, want %v", got, want)
				}
				eventually(t, "the offset", func() bool { _, code := fetchOffset(c, "g", true, "t", 0); return code == 0 })
				got, _ := fetchOffset(c, "g", true, "t", 0)
				eq(t, "offset", got, map[bool]int64{true: 7, false: -1}[commit])
				eq(t, "stable offset", fetchCommitted(c, "t", 0).LastStableOffset, listOffset(c, "t", 0, -1).Offset)
				tx2.epoch = 1
				eq(t, "the next transaction", tx2.produce(12, "t", "next").ErrorCode, 0)
				eq(t, "commit", tx2.end(5, true).ErrorCode, 0)
				tx2.settled()
				if got := visible(c, "t"); !slices.Equal(got, append(want, "next")) {
					t.Errorf("visible: %v, want %v", got, append(want, "next"))
				}
			})
		}
	}
}

// again is a batch of epoch 0 with a sequence of its own.
func (x *txn) again(topic string, sequence int32, value string) []byte {
	b := newBatch(r(value))
	b.attrs, b.pid, b.pepoch, b.seq = 0x10, x.pid, 0, sequence
	return b.encode()
}

// TestOpenTransactionsTimeOutAfterAKill: nobody but the coordinator is left to end
// them. This is the end of case B25 too.
func TestOpenTransactionsTimeOutAfterAKill(t *testing.T) {
	p := own(t, "transaction.abort.timed.out.transaction.cleanup.interval.ms=200")
	c := dial(t, p.Addr)
	createTopic(c, "t", 1)
	x := startTxn(c, "x", 4*time.Second)
	eq(t, "produce", x.produce(12, "t", "a", "b", "c").ErrorCode, 0)
	mustProduce(c, "t", 0, one("plain"))
	p.Kill()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	c = dial(t, p.Addr)
	awaitTopic(c, "t", 1)
	stable(t, c, "t")
	again := newTxn(c, "x")
	again.awaitState("CompleteAbort")
	if got := visible(c, "t"); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("visible: %v", got)
	}
	again.pid, again.epoch = x.pid, x.epoch
	eq(t, "the old producer", again.produce(12, "t", "late").ErrorCode, 47)
}
