package storage

import (
	"math"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// verified is a log and what its tests do to it.
type verified struct {
	t *testing.T
	l *Log
}

func (v *verified) start(id int64, epoch int16, sequence int32, v2 bool) Guard {
	v.t.Helper()
	g, err := v.l.StartVerification(id, epoch, sequence, v2, t0)
	must(v.t, err)
	return g
}

func (v *verified) append(b record.Batch, g Guard, code protocol.ErrorCode) {
	v.t.Helper()
	_, err := v.l.AppendVerified(b, 0, Client, g, t0)
	if code == protocol.None {
		must(v.t, err)
		return
	}
	wantCode(v.t, err, code)
}

func (v *verified) mark(id int64, epoch int16, version int16) {
	v.t.Helper()
	_, err := v.l.AppendMarker(endTxn(id, epoch, false, 0), 0, version, t0)
	must(v.t, err)
}

func newVerified(t *testing.T) *verified {
	return &verified{t, open(t, vfs.NewMem(), DefaultLogConfig(), true, 0)}
}

func TestVerificationGuard(t *testing.T) {
	v := newVerified(t)
	v.append(sent(1, 0, 0, 1, true), NoGuard, protocol.InvalidTxnState)
	g := v.start(1, 0, 0, false)
	if g == NoGuard {
		t.Fatal("a transaction that is not open needs no verification")
	}
	if again := v.start(1, 0, 1, false); again != g {
		t.Errorf("a second batch that waits has guard %d, the first %d", again, g)
	}
	v.append(sent(1, 0, 0, 1, true), g+1, protocol.InvalidTxnState)
	v.append(sent(1, 0, 0, 1, true), g, protocol.None)
	if g := v.start(1, 0, 1, false); g != NoGuard {
		t.Errorf("an open transaction is verified again: %d", g)
	}
	v.append(sent(1, 0, 1, 1, true), NoGuard, protocol.None)
	v.append(sent(1, 0, 0, 1, true), NoGuard, protocol.None) // sent again
	v.append(sent(2, 0, 0, 1, false), NoGuard, protocol.None)

	// A batch of the ended transaction that arrives late, with the guard it once had.
	v.mark(1, 0, 0)
	v.append(sent(1, 0, 2, 1, true), g, protocol.InvalidTxnState)
	late := v.start(1, 0, 2, false)
	v.mark(1, 0, 0)
	v.append(sent(1, 0, 2, 1, true), late, protocol.InvalidTxnState)

	_, err := v.l.StartVerification(1, -1, 0, false, t0)
	wantCode(t, err, protocol.InvalidProducerEpoch)
	v.append(sent(1, 0, 2, 1, true), Unverified, protocol.None)
	// Another epoch of the same producer is another transaction.
	v.append(sent(1, 1, 0, 1, true), NoGuard, protocol.InvalidTxnState)
	if v.start(1, 1, 0, false) == NoGuard {
		t.Error("the open transaction of an older epoch counts")
	}
}

func TestVerificationOfVersion2(t *testing.T) {
	v := newVerified(t)
	g := v.start(1, 0, 3, true)
	v.append(sent(1, 0, 3, 1, true), g, protocol.OutOfOrderSequenceNumber) // nothing is known: 0 comes first
	if v.start(1, 0, 0, true) != g {
		t.Error("another guard")
	}
	v.append(sent(1, 0, 3, 1, true), g, protocol.OutOfOrderSequenceNumber)
	v.append(sent(1, 0, 0, 3, true), g, protocol.None)
	v.append(sent(1, 0, 3, 1, true), NoGuard, protocol.None)
	v.mark(1, 1, 2)
	// The next transaction is asked about before the marker comes: the marker's epoch is the next one's.
	g = v.start(2, 0, 0, true)
	v.append(sent(2, 0, 0, 1, true), g, protocol.None)
	g = v.start(2, 1, 0, true)
	v.mark(2, 1, 2)
	v.append(sent(2, 1, 0, 1, true), g, protocol.None)

	// A producer without state whose later batch overtook the first.
	old := v.start(3, 0, 5, false)
	v.start(3, 0, 4, false)
	v.append(sent(3, 0, 5, 1, true), old, protocol.OutOfOrderSequenceNumber)
	v.append(sent(3, 0, 4, 1, true), old, protocol.None)

	_, err := v.l.AppendMarker(endTxn(3, 0, true, 0), 0, 2, t0)
	wantCode(t, err, protocol.InvalidProducerEpoch)
	lead(t, v.l, sent(4, math.MaxInt16, 0, 1, true))
	v.mark(4, math.MaxInt16, 2) // there is no epoch above
}

func TestVerificationsExpire(t *testing.T) {
	v := newVerified(t)
	v.l.env.expireMs = 1000
	g := v.start(1, 0, 0, false)
	v.l.expireProducers(t0 + 999)
	if v.start(1, 0, 0, false) != g {
		t.Error("forgotten before its time")
	}
	v.l.expireProducers(t0 + 1000)
	v.append(sent(1, 0, 0, 1, true), g, protocol.InvalidTxnState)
	if len(v.l.verifying.byID) != 0 {
		t.Error("not forgotten")
	}
}
