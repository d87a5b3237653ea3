package conformance

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAbortedData is case B24.
func TestAbortedData(t *testing.T) {
	c := connect(t)
	topic := unique("b24")
	createTopic(c, topic, 1)
	x := startTxn(c, unique("b24"), time.Minute)
	eq(t, "first", x.produce(12, topic, "a").ErrorCode, 0)
	mustProduce(c, topic, 0, one("plain"))
	eq(t, "second", x.produce(12, topic, "b").ErrorCode, 0)
	eq(t, "abort", x.end(5, false).ErrorCode, 0)
	x.settled()
	eventually(t, "the marker", func() bool { return listOffset(c, topic, 0, -1).Offset == 4 })
	un, co := fetch(c, topic, 0, 0), fetchCommitted(c, topic, 0)
	eq(t, "the same bytes", string(un.RecordBatches), string(co.RecordBatches))
	eq(t, "batches", len(split(t, un.RecordBatches)), 4)
	eq(t, "uncommitted: the list is null", un.AbortedTransactions == nil, true)
	eq(t, "committed: aborted transactions", len(co.AbortedTransactions), 1)
	if len(co.AbortedTransactions) == 1 {
		eq(t, "producer", co.AbortedTransactions[0].ProducerID, x.pid)
		eq(t, "first offset", co.AbortedTransactions[0].FirstOffset, 0)
	}
	behind := fetchCommitted(c, topic, 4)
	eq(t, "nothing aborted in range", behind.AbortedTransactions != nil && len(behind.AbortedTransactions) == 0, true)
	eq(t, "stable offset", co.LastStableOffset, 4)
	if got := visible(c, topic); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("visible: %v", got)
	}
}

// TestNothingBeyondTheStableOffset is case B25.
func TestNothingBeyondTheStableOffset(t *testing.T) {
	c := connect(t)
	topic := unique("b25")
	createTopic(c, topic, 1)
	x := startTxn(c, unique("b25"), time.Minute)
	eq(t, "produce", x.produce(12, topic, "a", "b", "c").ErrorCode, 0)
	mustProduce(c, topic, 0, one("plain"))
	stable(t, c, topic)
	eq(t, "abort", x.end(5, false).ErrorCode, 0)
	eventually(t, "the marker", func() bool { return fetchCommitted(c, topic, 0).LastStableOffset == 5 })
	if got := visible(c, topic); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("visible: %v", got)
	}
	eq(t, "latest", listOffsetIso(c, topic, 0, -1, 1).Offset, 5)
}

// stable checks what an open transaction at 0 to 2 and a record at 3 hide.
func stable(t *testing.T, c *conn, topic string) {
	t.Helper()
	p := fetchCommitted(c, topic, 0)
	eq(t, "fetch", p.ErrorCode, 0)
	eq(t, "high watermark", p.HighWatermark, 4)
	eq(t, "last stable offset", p.LastStableOffset, 0)
	eq(t, "bytes", len(p.RecordBatches), 0)
	for _, l := range []struct{ ts, committed, uncommitted int64 }{{-1, 0, 4}, {-3, -1, 3}, {0, -1, 0}} {
		co, un := listOffsetIso(c, topic, 0, l.ts, 1), listOffsetIso(c, topic, 0, l.ts, 0)
		eq(t, "committed", co.Offset, l.committed)
		if l.ts != -3 { // several records may have the same time
			eq(t, "uncommitted", un.Offset, l.uncommitted)
		}
		if l.committed < 0 {
			eq(t, "timestamp", co.Timestamp, -1)
		}
	}
}

// TestEndTxnRetries is case B39.
func TestEndTxnRetries(t *testing.T) {
	c := connect(t)
	topic := unique("b39")
	createTopic(c, topic, 1)
	x := startTxn(c, unique("b39"), time.Minute)
	eq(t, "produce", x.produce(12, topic, "a").ErrorCode, 0)
	end := func(what string, commit bool, epoch int16, code, next int16) {
		t.Helper()
		r := x.endAs(5, commit, x.pid, epoch)
		eq(t, what, r.ErrorCode, code)
		if code == 0 {
			eq(t, what+": epoch", r.ProducerEpoch, next)
			eq(t, what+": producer id", r.ProducerID, x.pid)
		}
	}
	end("abort", false, 0, 0, 1)
	end("abort again", false, 0, 0, 1)
	end("commit after abort", true, 0, 48, 0)
	x.epoch, x.seq[topic] = 1, 0
	eq(t, "produce", x.produce(12, topic, "b").ErrorCode, 0)
	end("commit", true, 1, 0, 2)
	end("commit again", true, 1, 0, 2)
	end("abort after commit", false, 1, 48, 0)
	end("commit of nothing", true, 2, 48, 0)
	end("abort of nothing", false, 2, 0, 3)
	eq(t, "wrong producer id", x.endAs(5, true, x.pid+1000, 3).ErrorCode, 49)
	unknown := newTxn(c, unique("b39-unknown"))
	eq(t, "unknown transactional id", unknown.endAs(5, true, x.pid, 0).ErrorCode, 49)
	if got := visible(c, topic); !slices.Equal(got, []string{"b"}) {
		t.Errorf("visible: %v", got)
	}

	old := startTxn(c, unique("b39-v4"), time.Minute)
	eq(t, "add", old.add(3, topic, 0)[0], 0)
	eq(t, "produce", old.produce(11, topic, "c").ErrorCode, 0)
	for _, s := range []struct {
		commit bool
		code   int16
	}{{true, 0}, {true, 0}, {false, 48}} {
		eq(t, "version 4", old.endAs(4, s.commit, old.pid, old.epoch).ErrorCode, s.code)
	}
}

// TestFencing is case B40.
func TestFencing(t *testing.T) {
	c := connect(t)
	topic := unique("b40")
	createTopic(c, topic, 1)
	old := startTxn(c, unique("b40"), time.Minute)
	eq(t, "produce", old.produce(12, topic, "a").ErrorCode, 0)
	fresh := &txn{c: c, id: old.id, seq: map[string]int32{}}
	eq(t, "while it is open", fresh.initOnce(5, time.Minute, -1, -1).ErrorCode, 51)
	eq(t, "init", fresh.init(time.Minute), 0)
	eq(t, "same producer id", fresh.pid, old.pid)
	eq(t, "higher epoch", fresh.epoch > old.epoch, true)
	eq(t, "old: produce", old.produce(12, topic, "b").ErrorCode, 47)
	eq(t, "old: end", old.endAs(5, true, old.pid, old.epoch).ErrorCode, 90)
	eq(t, "old: add", old.add(3, topic, 0)[0], 90)
	eq(t, "old: init", old.initOnce(5, time.Minute, old.pid, old.epoch).ErrorCode, 90)
	eq(t, "old: init of version 3", old.initOnce(3, time.Minute, old.pid, old.epoch).ErrorCode, 47)
	eq(t, "old: add of version 1", old.add(1, topic, 0)[0], 47)
	eq(t, "old: end of version 1", old.endAs(1, true, old.pid, old.epoch).ErrorCode, 47)
	eq(t, "old: offsets", old.addOffsets(4, "g"), 90)
	eq(t, "old: offsets of version 1", old.addOffsets(1, "g"), 47)
}

// TestTimeout is the second half of case B40.
func TestTimeout(t *testing.T) {
	c := connect(t)
	topic := unique("b40-timeout")
	createTopic(c, topic, 1)
	x := startTxn(c, unique("b40-timeout"), time.Second)
	eq(t, "produce", x.produce(12, topic, "a").ErrorCode, 0)
	deadline := time.Now().Add(13 * time.Second)
	for describeTxn(c, x.id).State != "CompleteAbort" && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	d := describeTxn(c, x.id)
	eq(t, "state", d.State, "CompleteAbort")
	eq(t, "epoch", d.ProducerEpoch, x.epoch+1)
	eq(t, "produce", x.produce(12, topic, "b").ErrorCode, 47)
	eq(t, "commit", x.endAs(5, true, x.pid, x.epoch).ErrorCode, 48)
	eq(t, "visible", len(visible(c, topic)), 0)
}

// TestPendingOffsets is case B41.
func TestPendingOffsets(t *testing.T) {
	for _, version := range []int16{5, 6} {
		c := connect(t)
		topic, group := unique("b41"), unique("b41-group")
		createTopic(c, topic, 2)
		findCoordinator(c, group)
		x := startTxn(c, unique("b41"), time.Minute)
		good, bad, none := offset{topic, 0, 7}, offset{topic, 9, 7}, offset{"b41-no-such-topic", 0, 7}
		codes := x.commitOffsets(version, group, good, bad, none)
		eq(t, "existing partition", codes[good], 0)
		eq(t, "missing partition", codes[bad], 3)
		eq(t, "missing topic", codes[none], map[int16]int16{5: 3, 6: 100}[version])
		d := describeTxn(c, x.id)
		eq(t, "state", d.State, "Ongoing")
		eq(t, "the group's partition is in the transaction", len(d.Topics) == 1 && d.Topics[0].Topic == "__consumer_offsets", true)
		check := func(what string, stable bool, partition int32, want int64, code int16) {
			t.Helper()
			got, err := fetchOffset(c, group, stable, topic, partition)
			eq(t, what, err, code)
			eq(t, what+": offset", got, want)
		}
		check("stable", true, 0, -1, 88)
		check("stable, the other partition", true, 1, -1, 0)
		check("not stable", false, 0, -1, 0)
		eq(t, "commit", x.end(5, true).ErrorCode, 0)
		eventually(t, "the offset", func() bool { _, err := fetchOffset(c, group, true, topic, 0); return err != 88 })
		check("committed", true, 0, 7, 0)
		eq(t, "again", x.commitOffsets(version, group, offset{topic, 0, 9})[offset{topic, 0, 9}], 0)
		check("stable", true, 0, -1, 88)
		check("not stable", false, 0, 7, 0)
		eq(t, "abort", x.end(5, false).ErrorCode, 0)
		eventually(t, "the offset", func() bool { _, err := fetchOffset(c, group, true, topic, 0); return err != 88 })
		check("aborted", true, 0, 7, 0)
	}
}

// TestOffsetsOfOlderClients: they say first that a group is part of the
// transaction.
func TestOffsetsOfOlderClients(t *testing.T) {
	c := connect(t)
	topic, group := unique("offsets-old"), unique("offsets-old")
	createTopic(c, topic, 1)
	findCoordinator(c, group)
	o := offset{topic, 0, 3}
	for _, v := range []struct{ version, refused int16 }{{0, 48}, {2, 48}, {3, 48}, {4, 120}} {
		x := startTxn(c, unique("offsets-old"), time.Minute)
		eq(t, "not added", x.commitOffsets(v.version, group, o)[o], v.refused)
		eq(t, "add", x.addOffsets(min(v.version, 3), group), 0)
		eq(t, "commit", x.commitOffsets(v.version, group, o)[o], 0)
		_, err := fetchOffset(c, group, true, topic, 0)
		eq(t, "pending", err, 88)
		eq(t, "end", x.end(4, true).ErrorCode, 0)
		eventually(t, "the offset", func() bool { _, err := fetchOffset(c, group, true, topic, 0); return err == 0 })
		got, _ := fetchOffset(c, group, false, topic, 0)
		eq(t, "offset", got, 3)
	}
	x := startTxn(c, unique("offsets-who"), time.Minute)
	for _, who := range []struct {
		group      string
		generation int32
		version    int16
		code       int16
	}{{unique("nobody"), 3, 5, 22}, {unique("nobody"), 3, 6, 69}, {"", -1, 6, 24}} {
		findCoordinator(c, who.group)
		req := x.commitRequest(who.group, o)
		req.Generation, req.MemberID = who.generation, "m"
		eq(t, "commit for a member that is not there", x.commitCodes(who.version, req, o)[o], who.code)
	}
	m := newMember(t, unique("offsets-member"))
	eq(t, "join", m.join(9).ErrorCode, 0)
	eq(t, "sync", m.sync(5, map[string][]byte{m.id: {}}).ErrorCode, 0)
	for _, who := range []struct {
		id         string
		generation int32
		code       int16
	}{{m.id, m.generation, 0}, {m.id, m.generation + 1, 22}, {"stranger", m.generation, 25}, {"", -1, 0}} {
		req := x.commitRequest(m.group, o)
		req.Generation, req.MemberID = who.generation, who.id
		eq(t, "member "+who.id, x.commitCodes(6, req, o)[o], who.code)
	}
}

// TestMarkerTakesAnOffset is case B42.
func TestMarkerTakesAnOffset(t *testing.T) {
	c := connect(t)
	topic := unique("b42")
	createTopic(c, topic, 1)
	x := startTxn(c, unique("b42"), time.Minute)
	eq(t, "produce", x.produce(12, topic, "a").ErrorCode, 0)
	eq(t, "commit", x.end(5, true).ErrorCode, 0)
	eventually(t, "the marker", func() bool { return listOffset(c, topic, 0, -1).Offset == 2 })
	b := split(t, fetch(c, topic, 0, 0).RecordBatches)
	eq(t, "batches", len(b), 2)
	m := b[1]
	eq(t, "offset", m.base, 1)
	eq(t, "attributes", m.attrs, 0x30)
	eq(t, "records", m.count, 1)
	eq(t, "producer", m.pid, x.pid)
	eq(t, "epoch", m.pepoch, b[0].pepoch+1)
	eq(t, "sequence", m.seq, -1)
	eq(t, "size", len(m.raw), 78)
	eq(t, "key", string(m.raw[66:70]), "\x00\x00\x00\x01")
}

// TestVerification: who may produce to which transaction, by version.
func TestVerification(t *testing.T) {
	c := connect(t)
	topic := unique("verification")
	createTopic(c, topic, 1)
	for _, v := range []struct{ version, code int16 }{{9, 48}, {10, 48}, {11, 120}, {12, 0}} {
		x := startTxn(c, unique("verification"), time.Minute)
		eq(t, "partition not added", x.produce(v.version, topic, "a").ErrorCode, v.code)
		eq(t, "added", x.add(3, topic, 0)[0], 0)
		eq(t, "produce", x.produce(v.version, topic, "b").ErrorCode, 0)
		eq(t, "end", x.end(4, true).ErrorCode, 0)
		x.settled()
		eq(t, "after the end", x.produce(11, topic, "c").ErrorCode, 120)
	}
	x := startTxn(c, unique("verification"), time.Minute)
	x.seq[topic] = 3
	eq(t, "version 2 begins with sequence 0", x.produce(12, topic, "a").ErrorCode, 45)
	b := newBatch(r("x"))
	b.pid, b.pepoch, b.seq = x.pid, x.epoch, 0
	eq(t, "no transactional id", produce(c, 9, topic, 0, x.batch(topic, "a")).ErrorCode, 53)
	x.pid += 1000
	eq(t, "another producer's id", x.produce(12, topic, "a").ErrorCode, 49)
	eq(t, "another producer's id, version 9", x.produce(9, topic, "a").ErrorCode, 49)
	x.pid -= 1000
	x.epoch++
	eq(t, "an epoch that was not given", x.produce(12, topic, "a").ErrorCode, 47)
	eq(t, "the same, version 9", x.produce(9, topic, "a").ErrorCode, 47)
	unknown := newTxn(c, unique("verification-unknown"))
	unknown.pid = x.pid
	eq(t, "unknown transactional id", unknown.produce(12, topic, "a").ErrorCode, 49)
	x.epoch--
	x.seq[topic] = 0
	eq(t, "produce", x.produce(12, topic, "a").ErrorCode, 0)
	b.seq = 1
	eq(t, "outside of the open transaction", produce(c, 9, topic, 0, b.encode()).ErrorCode, 48)
	dup := x.batch(topic, "b")
	first := x.send(12, topic, dup)
	again := x.send(12, topic, dup)
	eq(t, "a duplicate", again.ErrorCode, 0)
	eq(t, "its offset", again.BaseOffset, first.BaseOffset)
	eq(t, "abort", x.end(5, false).ErrorCode, 0)
}

// TestAddPartitions: what exists, what does not, and who asks.
func TestAddPartitions(t *testing.T) {
	c := connect(t)
	topic := unique("add")
	createTopic(c, topic, 2)
	x := startTxn(c, unique("add"), time.Minute)
	for version := int16(0); version <= 3; version++ {
		codes := x.add(version, topic, 0, 5)
		eq(t, "beside one that is missing", codes[0], 55)
		eq(t, "missing", codes[1], 3)
		eq(t, "internal", x.add(version, "__consumer_offsets", 0)[0], 29)
	}
	eq(t, "nothing was begun", describeTxn(c, x.id).State, "Empty")
	eq(t, "both", x.add(3, topic, 0, 1)[1], 0)
	d := describeTxn(c, x.id)
	eq(t, "state", d.State, "Ongoing")
	eq(t, "topics", len(d.Topics), 1)

	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	ask := func(id string, verify bool, partitions ...int32) {
		rt := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: id, ProducerID: x.pid, ProducerEpoch: x.epoch, VerifyOnly: verify}
		rt.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: partitions}}
		req.Transactions = append(req.Transactions, rt)
	}
	y := startTxn(c, unique("add"), time.Minute)
	ask(x.id, true, 0, 1)
	ask(y.id, false, 0)
	r := do[*kmsg.AddPartitionsToTxnResponse](c, 5, req)
	eq(t, "version 5", r.ErrorCode, 0)
	eq(t, "transactions", len(r.Transactions), 2)
	codes := map[string][]int16{}
	for _, rt := range r.Transactions {
		for _, tp := range rt.Topics[0].Partitions {
			codes[rt.TransactionalID] = append(codes[rt.TransactionalID], tp.ErrorCode)
		}
	}
	eq(t, "verified", len(codes[x.id]) == 2 && codes[x.id][0] == 0 && codes[x.id][1] == 0, true)
	eq(t, "another producer id", codes[y.id][0], 49)
	z := startTxn(c, unique("add"), time.Minute)
	req.Transactions = nil
	x.pid, x.epoch = z.pid, z.epoch
	ask(z.id, true, 0)
	eq(t, "not in it", do[*kmsg.AddPartitionsToTxnResponse](c, 4, req).Transactions[0].Topics[0].Partitions[0].ErrorCode, 120)
}

// TestWriteTxnMarkers, as an operator's tool sends them.
func TestWriteTxnMarkers(t *testing.T) {
	c := connect(t)
	topic := unique("markers")
	createTopic(c, topic, 1)
	x := startTxn(c, unique("markers"), time.Minute)
	eq(t, "init", x.init(time.Minute), 0)
	eq(t, "produce", x.produce(12, topic, "a").ErrorCode, 0)
	write := func(version int16, epoch int16, coordinator int32, tv int8, partitions ...int32) []int16 {
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		m := kmsg.WriteTxnMarkersRequestMarker{ProducerID: x.pid, ProducerEpoch: epoch, CoordinatorEpoch: coordinator, TransactionVersion: tv}
		m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: topic, Partitions: partitions}}
		req.Markers = append(req.Markers, m)
		r := do[*kmsg.WriteTxnMarkersResponse](c, version, req)
		codes := make([]int16, len(partitions))
		for _, p := range r.Markers[0].Topics[0].Partitions {
			codes[slices.Index(partitions, p.Partition)] = p.ErrorCode
		}
		return codes
	}
	eq(t, "an older epoch", write(1, 0, 0, 0, 0)[0], 47)
	eq(t, "version 2 in the data's epoch", write(2, x.epoch, 5, 2, 0)[0], 47)
	codes := write(2, x.epoch+1, 5, 2, 0, 7)
	eq(t, "marker", codes[0], 0)
	eq(t, "no such partition", codes[1], 3)
	eq(t, "again", write(2, x.epoch+1, 5, 2, 0)[0], 0)
	eq(t, "an older coordinator", write(1, x.epoch+1, 4, 0, 0)[0], 52)
	eq(t, "stable offset", fetchCommitted(c, topic, 0).LastStableOffset, 3)
	eq(t, "visible", len(visible(c, topic)), 0)
}

// TestDescribeAndList of transactions.
func TestDescribeAndList(t *testing.T) {
	c := connect(t)
	topic := unique("list")
	createTopic(c, topic, 1)
	id := unique("list")
	eq(t, "unknown", describeTxn(c, id).ErrorCode, 105)
	eq(t, "empty", describeTxn(c, "").ErrorCode, 42)
	x := startTxn(c, id, 42*time.Second)
	d := describeTxn(c, id)
	eq(t, "state", d.State, "Empty")
	eq(t, "start", d.StartTimestamp, -1)
	eq(t, "timeout", d.TimeoutMillis, 42000)
	eq(t, "producer id", d.ProducerID, x.pid)
	eq(t, "topics", len(d.Topics), 0)
	before := time.Now().UnixMilli()
	eq(t, "produce", x.produce(12, topic, "a").ErrorCode, 0)
	d = describeTxn(c, id)
	eq(t, "state", d.State, "Ongoing")
	eq(t, "started", d.StartTimestamp >= before-5 && d.StartTimestamp <= time.Now().UnixMilli()+5, true)
	eq(t, "topics", len(d.Topics) == 1 && d.Topics[0].Topic == topic && slices.Equal(d.Topics[0].Partitions, []int32{0}), true)
	list := func(version int16, change func(*kmsg.ListTransactionsRequest)) (states []string, unknown []string) {
		t.Helper()
		req := kmsg.NewPtrListTransactionsRequest()
		req.ProducerIDFilters, req.DurationFilterMillis = []int64{x.pid}, -1
		change(req)
		r := do[*kmsg.ListTransactionsResponse](c, version, req)
		eq(t, "ListTransactions", r.ErrorCode, 0)
		for _, s := range r.TransactionStates {
			eq(t, "id", s.TransactionalID, id)
			states = append(states, s.TransactionState)
		}
		return states, r.UnknownStateFilters
	}
	f := func(what string, want int, change func(*kmsg.ListTransactionsRequest)) []string {
		t.Helper()
		states, unknown := list(2, change)
		eq(t, what, len(states), want)
		return unknown
	}
	f("by producer", 1, func(*kmsg.ListTransactionsRequest) {})
	f("by state", 1, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Ongoing", "Empty"} })
	f("by another state", 0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"CompleteCommit"} })
	u := f("by no state", 0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Nonsense", "PrepareEpochFence"} })
	eq(t, "unknown states", len(u) == 1 && u[0] == "Nonsense", true)
	f("long ones", 0, func(r *kmsg.ListTransactionsRequest) { r.DurationFilterMillis = 100000 })
	f("by pattern", 1, func(r *kmsg.ListTransactionsRequest) { p := "list-.*"; r.TransactionalIDPattern = &p })
	f("the pattern is for all of it", 0, func(r *kmsg.ListTransactionsRequest) { p := "list"; r.TransactionalIDPattern = &p })
	req := kmsg.NewPtrListTransactionsRequest()
	bad := "("
	req.TransactionalIDPattern = &bad
	eq(t, "no pattern", do[*kmsg.ListTransactionsResponse](c, 2, req).ErrorCode, 128)
	eq(t, "abort", x.end(5, false).ErrorCode, 0)
}

// TestEpochsRunOut goes through all epochs of a producer id, which takes a while: OTTLA_LONG=1 asks for it.
func TestEpochsRunOut(t *testing.T) {
	if os.Getenv("OTTLA_LONG") == "" {
		t.Skip("32,000 requests; OTTLA_LONG=1 runs it")
	}
	c := connect(t)
	topic := unique("exhausted")
	createTopic(c, topic, 1)
	x := startTxn(c, unique("exhausted"), time.Minute)
	for x.epoch < 32765 {
		if r := x.initOnce(5, time.Minute, -1, -1); r.ErrorCode != 0 {
			t.Fatalf("init after epoch %d: error %d", x.epoch, r.ErrorCode)
		}
	}
	first := x.pid
	eq(t, "produce", x.produce(12, topic, "a").ErrorCode, 0)
	eq(t, "commit", x.end(5, true).ErrorCode, 0)
	eq(t, "the last epoch", x.epoch, 32766)
	eq(t, "produce", x.produce(12, topic, "b").ErrorCode, 0)
	eq(t, "commit", x.end(5, true).ErrorCode, 0)
	eq(t, "another producer id", x.pid != first && x.epoch == 0, true)
	again := x.endAs(5, true, first, 32766)
	eq(t, "commit again", again.ErrorCode, 0)
	eq(t, "its producer id", again.ProducerID, x.pid)
	eq(t, "its epoch", again.ProducerEpoch, 0)
	eq(t, "abort instead", x.endAs(5, false, first, 32766).ErrorCode, 48)
	x.settled()
	b := split(t, fetch(c, topic, 0, 0).RecordBatches)
	eq(t, "batches", len(b), 4)
	eq(t, "the last marker's epoch", b[3].pepoch, 32767)
	eq(t, "the last marker's producer id", b[3].pid, first)
	eq(t, "produce", x.produce(12, topic, "c").ErrorCode, 0)
	eq(t, "abort", x.end(5, false).ErrorCode, 0)
	if got := visible(c, topic); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("visible: %v", got)
	}
}
