package txn

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// endBumps is the version of EndTxn whose clients have an epoch for every transaction (KIP-890).
const endBumps = 5

// End decides an EndTxn request. With None and a Next, the end is decided and markers are due.
func (s *Store) End(c Call, req *kmsg.EndTxnRequest) Decision {
	t := s.byID[req.TransactionalID]
	switch {
	case t == nil:
		return refuse(protocol.InvalidProducerIDMapping)
	case req.Version >= endBumps:
		return t.endBumping(c, req.ProducerID, req.ProducerEpoch, req.Commit)
	}
	return t.end(c, req.ProducerID, req.ProducerEpoch, req.Commit)
}

// end is for clients whose transactions share an epoch: the same end twice is right as long as nothing new was begun.
func (t *Transaction) end(c Call, id int64, epoch int16, commit bool) Decision {
	switch {
	case t.ProducerID != id:
		return refuse(protocol.InvalidProducerIDMapping)
	case t.Epoch != epoch:
		return refuse(protocol.ProducerFenced)
	case t.State == Ongoing:
		return t.prepare(c, commit, 0)
	case t.State == Empty:
		return refuse(protocol.InvalidTxnState)
	}
	return t.again(commit)
}

// again answers for a transaction that was ended before.
func (t *Transaction) again(commit bool) Decision {
	committed := t.State == PrepareCommit || t.State == CompleteCommit
	switch {
	case commit != committed:
		return refuse(protocol.InvalidTxnState)
	case t.State.Prepared():
		return refuse(protocol.ConcurrentTransactions)
	}
	return Decision{ProducerID: t.ProducerID, Epoch: t.Epoch}
}

// endBumping is for clients that have an epoch for every transaction: the epoch before the current one tells an end
// that is sent again. An abort under the current epoch, where nothing was begun, ends an empty transaction, so that
// batches of it that are still on their way are fenced.
func (t *Transaction) endBumping(c Call, id int64, epoch int16, commit bool) Decision {
	overflown := t.PreviousProducerID == id && epoch == lastEpoch && t.Epoch == 0
	before := overflown || int(t.Epoch) == int(epoch)+1
	var valid bool
	switch {
	case t.State.Prepared():
		valid = int(t.Epoch) == int(epoch)+1
	case t.State == CompleteCommit || t.State == CompleteAbort:
		valid = before || t.Epoch == epoch
	default:
		valid = t.Epoch == epoch
	}
	switch {
	case t.ProducerID != id && !overflown:
		return refuse(protocol.InvalidProducerIDMapping)
	case !valid:
		return refuse(protocol.ProducerFenced)
	case t.State == Ongoing:
		return t.prepare(c, commit, bumpingVersion)
	case t.State.Prepared() || t.State != Empty && before:
		return t.again(commit)
	case commit:
		return refuse(protocol.InvalidTxnState)
	}
	return t.prepare(c, false, bumpingVersion)
}

// prepare decides the end of the transaction.
func (t *Transaction) prepare(c Call, commit bool, version int16) Decision {
	to := PrepareAbort
	if commit {
		to = PrepareCommit
	}
	n := t.next(to, c.NowMs)
	n.ClientVersion, n.NextProducerID = version, NoProducerID
	if version >= bumpingVersion {
		if t.exhausted() {
			if c.FreshID == NoProducerID {
				return needsID()
			}
			n.NextProducerID = c.FreshID
		}
		if t.Epoch < maxEpoch {
			n.Epoch++
		}
		n.LastEpoch = t.Epoch
	}
	if t.State != Ongoing {
		n.StartMs = c.NowMs
	}
	d := Decision{Next: n}
	d.ProducerID, d.Epoch = n.after()
	return d
}

// Fence aborts a transaction that is open, without its producer: it ran out of time. Nothing if it is not open.
func (s *Store) Fence(c Call, id string) Decision {
	if t := s.byID[id]; t != nil && t.State == Ongoing {
		return t.fence(c)
	}
	return Decision{}
}

// fence aborts the transaction under the next epoch, so that its producer has nothing to say any more.
func (t *Transaction) fence(c Call) Decision {
	if c.Level >= bumpingVersion {
		return t.prepare(c, false, bumpingVersion)
	}
	d := t.prepare(c, false, 0)
	if n := d.Next; n.Epoch < maxEpoch {
		n.Epoch++
	}
	d.Next.LastEpoch = NoEpoch
	d.Epoch = d.Next.Epoch
	return d
}

// Complete is what follows when all markers of a prepared transaction are written; nil if it is not the current state
// of its id any more.
func (s *Store) Complete(nowMs int64, prepared *Transaction) *Transaction {
	if s.byID[prepared.ID] != prepared || !prepared.State.Prepared() {
		return nil
	}
	to := CompleteAbort
	if prepared.Commits() {
		to = CompleteCommit
	}
	n := prepared.next(to, nowMs)
	n.ProducerID, n.Epoch = prepared.after()
	n.NextProducerID, n.Partitions = NoProducerID, nil
	return n
}
