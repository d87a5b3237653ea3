package quorum

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// What Apache Kafka 4.4.0 wrote in testdata/kafka-4.4: a combined node, formatted, started, stopped, started, given a
// topic, stopped.
const (
	kafkaEnd   = 108
	kafkaEpoch = 2
)

var kafkaVoter = Voter{ID: 1, DirectoryID: mustUUID("TI0ww4EATbeXhA6rmRBTDw"), Endpoints: []Endpoint{{"CONTROLLER", "127.0.0.1", 39500}}}

func mustUUID(s string) protocol.UUID {
	u, err := protocol.ParseUUID(s)
	if err != nil {
		panic(err)
	}
	return u
}

func kafkaFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/kafka-4.4/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put writes files of testdata, or other content, into the metadata directory.
func put(t testing.TB, fsys vfs.FS, name string, content []byte) {
	t.Helper()
	if err := fsys.MkdirAll(testDir); err != nil {
		t.Fatal(err)
	}
	f, err := createSynced(fsys, testDir, name, name+".tmp", content)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func kafkaDir(t testing.TB) *vfs.Mem {
	fsys := vfs.NewMem()
	for _, name := range []string{"00000000000000000000.log", "00000000000000000000-0000000000.checkpoint", "quorum-state"} {
		put(t, fsys, name, kafkaFile(t, name))
	}
	return fsys
}

// TestFirstBatchIsKafkas compares bytes.
func TestFirstBatchIsKafkas(t *testing.T) {
	golden, rest, err := record.Next(kafkaFile(t, "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	voters, err := encodeVoters([]Voter{kafkaVoter})
	if err != nil {
		t.Fatal(err)
	}
	got, err := epochStart(1, 0, 1, []Voter{kafkaVoter}, voters, golden.BaseTimestamp())
	if err != nil || !bytes.Equal(got, golden) {
		t.Fatalf("%v\n got %x\nwant %x", err, got, golden)
	}
	for len(rest) > 0 {
		var b record.Batch
		if b, rest, err = record.Next(rest); err != nil {
			t.Fatal(err)
		}
		if !b.IsControl() {
			var values [][]byte
			for r, err := range b.Records(1 << 20) {
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, bytes.Clone(r.Value))
			}
			if got := dataBatch(b.PartitionLeaderEpoch(), b.BaseOffset(), values, b.BaseTimestamp()); !bytes.Equal(got, b) {
				t.Fatalf("batch at %d\n got %x\nwant %x", b.BaseOffset(), got, b)
			}
			continue
		}
		got, err := epochStart(2, b.BaseOffset(), 1, []Voter{kafkaVoter}, nil, b.BaseTimestamp())
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%v\n got %x\nwant %x", err, got, b)
		}
	}
}

func TestTakesKafkasDirectory(t *testing.T) {
	fsys := kafkaDir(t)
	n, err := startTestNode(fsys, kafkaVoter, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	epoch, next := n.r.leads(0)
	if epoch != kafkaEpoch+1 || next != kafkaEnd+1 {
		t.Fatalf("epoch %d at %d", epoch, next)
	}
	n.mustClose(t)
	wantLines(t, describe(n.r.batches), []string{"108@3 control 2"})
	q, err := readQuorumState(fsys, testDir)
	if err != nil || q.LeaderEpoch != 3 || q.LeaderID != 1 {
		t.Fatalf("%+v, %v", q, err)
	}
}

// kafkaTurn is Kafka having the directory for a while: it raises the epoch and writes something.
func kafkaTurn(t testing.TB, fsys vfs.FS, epoch int32, at int64) {
	t.Helper()
	log, err := openTestLog(fsys, testDir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := epochStart(epoch, at, 1, []Voter{testVoter}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, dataBatch(epoch, at+1, [][]byte{[]byte("kafka's")}, 1)...)
	// What is behind at was lost before Kafka started.
	l := &testLog{f: log.f}
	for _, have := range log.batches {
		if have.BaseOffset() < at {
			l.keep(have)
		}
	}
	if err := l.f.Truncate(l.size); err != nil {
		t.Fatal(err)
	}
	if err := l.appendBatches(b, epoch); err != nil {
		t.Fatal(err)
	}
	if err := writeQuorumState(fsys, testDir, quorumState{LeaderID: 1, LeaderEpoch: epoch, VotedID: -1}); err != nil {
		t.Fatal(err)
	}
}

// TestKafkaRanInBetween: whatever Kafka wrote is taken, under a higher epoch.
func TestKafkaRanInBetween(t *testing.T) {
	f := func(name string, clean bool, epoch int32, at int64, want ...string) {
		t.Run(name, func(t *testing.T) {
			fsys := vfs.NewCrashable()
			n := mustStart(t, fsys)
			e, next := n.r.leads(0)
			if err := n.write(e, next, "a", "b"); err != nil { // offsets 3 and 4
				t.Fatal(err)
			}
			if clean {
				n.mustClose(t)
			} else {
				defer n.mustClose(t)
				fsys = fsysAfterKill(t, fsys)
			}
			kafkaTurn(t, fsys, epoch, at)
			n = mustStart(t, fsys)
			n.r.leads(0)
			n.mustClose(t)
			wantLines(t, describe(n.log.all()), append([]string{"0@1 control 2,control 5,control 6"}, want...))
		})
	}
	f("after a clean stop", true, 2, 5, "3@1 a", "4@1 b", "5@2 control 2", "6@2 kafka's", "7@3 control 2")
	f("after a kill", false, 2, 5, "3@1 a", "4@1 b", "5@2 control 2", "6@2 kafka's", "7@3 control 2")
	f("several times", true, 9, 5, "3@1 a", "4@1 b", "5@9 control 2", "6@9 kafka's", "7@10 control 2")
	// A power loss took the end of the log, which Raft's store still has, but Kafka did not know.
	f("after a power loss", false, 2, 4, "3@1 a", "4@2 control 2", "5@2 kafka's", "6@3 control 2")
	f("after a power loss, in our own epoch", false, 1, 4, "3@1 a", "4@1 control 2", "5@1 kafka's", "6@2 control 2")
	f("after a power loss, to the same length", false, 1, 3, "3@1 control 2", "4@1 kafka's", "5@2 control 2")
}

// fsysAfterKill is the disk as it is now: a killed process loses nothing that it wrote.
func fsysAfterKill(t testing.TB, fsys *vfs.Mem) *vfs.Mem {
	t.Helper()
	out := vfs.NewCrashable()
	for _, name := range []string{"00000000000000000000.log", "quorum-state", "raft/log"} {
		b, err := readFile(fsys, testDir+"/"+name, 1<<30)
		if err != nil {
			continue // quorum-state may not be written yet
		}
		if err := out.MkdirAll(testDir + "/raft"); err != nil {
			t.Fatal(err)
		}
		f, err := out.Create(testDir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestEndOfLogIsWrittenAgain: the log lacks what Raft's store has.
func TestEndOfLogIsWrittenAgain(t *testing.T) {
	for lost := int64(0); lost <= 6; lost++ {
		fsys := vfs.NewCrashable()
		n := mustStart(t, fsys)
		epoch, next := n.r.leads(0)
		if err := n.write(epoch, next, "a", "b", "c", "d"); err != nil { // offsets 3 to 6
			t.Fatal(err)
		}
		fsys = fsysAfterKill(t, fsys)
		n.mustClose(t)
		log, err := openTestLog(fsys, testDir)
		if err != nil {
			t.Fatal(err)
		}
		keep := int64(0)
		for _, b := range log.batches {
			if b.BaseOffset() < 7-lost {
				keep += int64(len(b))
			}
		}
		if err := log.f.Truncate(max(0, keep-5)); err != nil { // and a torn batch
			t.Fatal(err)
		}
		n = mustStart(t, fsys)
		n.r.leads(0)
		n.mustClose(t)
		wantLines(t, describe(n.log.all()), []string{
			"0@1 control 2,control 5,control 6", "3@1 a", "4@1 b", "5@1 c", "6@1 d", "7@2 control 2"})
	}
}

// TestLogStartAboveRaftsSnapshot: the front of the log went into a metadata snapshot before Raft's store was trimmed.
func TestLogStartAboveRaftsSnapshot(t *testing.T) {
	for keep := range 5 { // batches at the end of the log
		fsys := vfs.NewCrashable()
		n := mustStart(t, fsys)
		epoch, next := n.r.leads(0)
		if err := n.write(epoch, next, "a", "b", "c", "d"); err != nil { // offsets 3 to 6
			t.Fatal(err)
		}
		fsys = fsysAfterKill(t, fsys)
		n.mustClose(t)
		log, err := openTestLog(fsys, testDir)
		if err != nil {
			t.Fatal(err)
		}
		cut := &testLog{f: log.f, start: 7}
		if err := cut.f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		for _, b := range log.batches[5-keep:] {
			if err := cut.appendBatches(b, 1); err != nil {
				t.Fatal(err)
			}
		}
		core, lines := observer.New(zap.InfoLevel)
		n, err = startNodeOn(fsys, cut, testVoter, zap.New(core))
		if err != nil {
			t.Fatal(err)
		}
		if epoch, next := n.r.leads(0); epoch != 2 || next != 8 {
			t.Fatalf("%d batches: epoch %d at %d", keep, epoch, next)
		}
		n.mustClose(t)
		if lines.FilterMessageSnippet("another program").Len() > 0 {
			t.Fatalf("%d batches: taken for another program's", keep)
		}
	}
}

func TestRefusedDirectories(t *testing.T) {
	f := func(name string, voter Voter, want string, prepare func(t testing.TB) *vfs.Mem) {
		t.Run(name, func(t *testing.T) {
			if _, err := startTestNode(prepare(t), voter, zap.NewNop()); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%v, want %q in it", err, want)
			}
		})
	}
	written := func(t testing.TB) *vfs.Mem {
		fsys := vfs.NewMem()
		n := mustStart(t, fsys)
		epoch, next := n.r.leads(0)
		if err := n.write(epoch, next, "a"); err != nil {
			t.Fatal(err)
		}
		n.mustClose(t)
		return fsys
	}
	two := testVoter
	two.ID = 2
	f("another controller's log", two, "controller 1 has a vote", kafkaDir)
	f("another controller's store", two, "belongs to controller 1", written)
	f("log lost what was synced", testVoter, "has lost data", func(t testing.TB) *vfs.Mem {
		fsys := written(t)
		put(t, fsys, "00000000000000000000.log", nil)
		return fsys
	})
	f("a quorum of three", testVoter, "controller 5 has a vote", func(t testing.TB) *vfs.Mem {
		fsys := vfs.NewMem()
		voters, err := encodeVoters([]Voter{testVoter, {ID: 5}, {ID: 6}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := epochStart(1, 0, 5, []Voter{testVoter, {ID: 5}, {ID: 6}}, voters, 1)
		if err != nil {
			t.Fatal(err)
		}
		put(t, fsys, "00000000000000000000.log", b)
		return fsys
	})
	f("a store of the future", testVoter, "no Raft store of a version known", func(t testing.TB) *vfs.Mem {
		fsys := written(t)
		put(t, fsys, "raft/log", []byte("ottRaft\x02 and so on"))
		return fsys
	})
	f("a damaged store", testVoter, "snapshot is damaged", func(t testing.TB) *vfs.Mem {
		fsys := written(t)
		put(t, fsys, "raft/log", []byte(fileHeader+"\x00\x00\x00\x05garbage"))
		return fsys
	})
	f("quorum-state of the future", testVoter, "data_version 7", func(t testing.TB) *vfs.Mem {
		fsys := written(t)
		put(t, fsys, "quorum-state", []byte(`{"data_version":7}`))
		return fsys
	})
	f("a torn quorum-state", testVoter, "quorum-state", func(t testing.TB) *vfs.Mem {
		fsys := written(t)
		put(t, fsys, "quorum-state", []byte(`{"leaderId":1,"lea`))
		return fsys
	})
}

// TestQuorumStateVersion0 reads what Kafka writes at kraft.version 0.
func TestQuorumStateVersion0(t *testing.T) {
	fsys := vfs.NewMem()
	put(t, fsys, "quorum-state", []byte(`{"clusterId":"","leaderId":1,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`))
	n := mustStart(t, fsys)
	if epoch, _ := n.r.leads(0); epoch != 8 {
		t.Fatalf("epoch %d, want 8", epoch)
	}
	n.mustClose(t)
}

// TestKRaftVersion0LogGetsNoVoters: a log that Kafka began with static voters stays one.
func TestKRaftVersion0LogGetsNoVoters(t *testing.T) {
	fsys := vfs.NewMem()
	b, err := epochStart(1, 0, 1, []Voter{testVoter}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	put(t, fsys, "00000000000000000000.log", b)
	n := mustStart(t, fsys)
	n.r.leads(0)
	n.mustClose(t)
	wantLines(t, describe(n.log.all()), []string{"0@1 control 2", "1@2 control 2"})
}

func TestVotersOfCheckpoint(t *testing.T) {
	value, err := checkpointVoters(kafkaDir(t), testDir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := encodeVoters([]Voter{kafkaVoter})
	if err != nil || !bytes.Equal(value, want) {
		t.Fatalf("%x, want %x, %v", value, want, err)
	}
}

// TestVoidEntries: a batch that was meant for another epoch or offset leaves no trace.
func TestVoidEntries(t *testing.T) {
	s := state{next: 10, epoch: 3}
	f := func(term uint64, b record.Batch, want bool) {
		t.Helper()
		before := s
		got, err := s.accept(term, b)
		if err != nil || (got != nil) != want {
			t.Fatalf("%v, %v, want accepted %v", got, err, want)
		}
		if !want && (s.next != before.next || s.epoch != before.epoch) {
			t.Fatal("a void entry changed the state")
		}
	}
	one := [][]byte{{1}}
	f(4, dataBatch(3, 10, one, 0), false)
	f(4, dataBatch(5, 10, one, 0), false)
	f(4, dataBatch(4, 9, one, 0), false)
	f(4, dataBatch(4, 11, one, 0), false)
	f(4, dataBatch(4, 10, one, 0), true)
	f(4, dataBatch(4, 10, one, 0), false)
	f(4, dataBatch(4, 11, one, 0), true)
	if _, err := s.accept(4, []byte("no batch")); err == nil {
		t.Fatal("accepted rubbish")
	}
}

// FuzzStoreFile: any file is opened or refused, without a panic and without memory beyond its size.
func FuzzStoreFile(f *testing.F) {
	s := &store{values: map[string][]byte{keyTerm: putUint64(3), keyVote: []byte("1")},
		snap: snapshot{index: 4, term: 2, configIndex: 4, state: (&state{next: 9}).encode(),
			configuration: raft.Configuration{Servers: []raft.Server{{ID: "1", Address: "1"}}}}}
	for i := range 3 {
		_ = s.keepEntry(raft.Log{Index: 5 + uint64(i), Term: 3, Data: []byte("data")})
	}
	f.Add(s.image([]byte(fileHeader)))
	f.Add(appendDrop(s.image([]byte(fileHeader)), 6, 7))
	f.Add([]byte(fileHeader))
	f.Fuzz(func(t *testing.T, file []byte) {
		fsys := vfs.NewMem()
		if err := fsys.MkdirAll(testDir + "/raft"); err != nil {
			t.Fatal(err)
		}
		put(t, fsys, "raft/log", file)
		s, err := openStore(fsys, testDir+"/raft", true)
		if err != nil {
			return
		}
		_, _ = decodeState(s.snap.state)
		if first, last := s.first, s.last(); first > last {
			t.Fatalf("entries %d to %d", first, last)
		}
		if err := s.StoreLog(&raft.Log{Index: s.last() + 1, Term: 9, Data: []byte("more")}); err != nil && len(s.entries) > 0 {
			t.Fatal(err)
		}
	})
}
