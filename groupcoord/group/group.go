// Package group holds what the rules of all kinds of groups share: the records of __consumer_offsets, and the
// plain data that a decision consists of. Nothing here or below starts a goroutine, takes a lock or asks the time.
package group

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// Token names a request that waits for its answer (JoinGroup, SyncGroup). The driver makes them; 0 is none.
type Token uint64

// Record is one record of __consumer_offsets. A nil Value is a tombstone.
type Record struct {
	Key, Value []byte
	// ProducerID and ProducerEpoch are those of a transactional batch; NoProducer otherwise.
	ProducerID    int64
	ProducerEpoch int16
	// Guard lets the batch begin the producer's transaction in the log; it is not stored.
	Guard uint64
	// Marker is set for the control record that ends the producer's transaction; Key and Value are then nil.
	Marker Marker
	// CoordinatorEpoch and TransactionVersion are the marker's. Of what is read from the log they are not known.
	CoordinatorEpoch   int32
	TransactionVersion int16
}

// NoProducer is the producer id of a plain record.
const NoProducer = -1

// Marker says what a control record is.
type Marker int8

const (
	NotMarker Marker = iota
	CommitMarker
	AbortMarker
)

// Size is what the record takes in a batch, at most.
func (r Record) Size() int {
	const overhead = 5 + 1 + 10 + 5 + 5 + 5 + 1 // length, attributes, deltas, key length, value length, headers
	return overhead + len(r.Key) + len(r.Value)
}

// TimerKind says what a timer of a group is for.
type TimerKind uint8

const (
	_ TimerKind = iota
	// MemberTimer: the session of a member, or of an id handed out and not yet used.
	MemberTimer
	// JoinTimer: the end of the join phase.
	JoinTimer
	// SyncTimer: the time in which every member has to ask for its assignment.
	SyncTimer
	// RevokeTimer: the time that a member of a consumer group has to give up partitions.
	RevokeTimer
	// DowngradeTimer: due at once, when a consumer group has become a classic one whose members have to join anew.
	DowngradeTimer
	// CleanupTimer: the shard's next look at expired offsets; it has neither group nor member.
	CleanupTimer
)

var timerNames = [...]string{MemberTimer: "member", JoinTimer: "join", SyncTimer: "sync", RevokeTimer: "revoke", DowngradeTimer: "downgrade", CleanupTimer: "cleanup"}

func (k TimerKind) String() string { return timerNames[k] }

// Timer arms (or moves) a timer; the zero time cancels it.
type Timer struct {
	Kind          TimerKind
	Group, Member string
	At            time.Time
	IfAbsent      bool // leave it alone if it is armed already
}

// Reply is the answer to a parked request. It goes out when the records decided with it, and before it, are
// committed; should they not be, the request gets the error instead.
type Reply struct {
	Token    Token
	Response kmsg.Response
}

// Outcome is what was decided: data for the driver to carry out.
type Outcome struct {
	Records []Record
	Timers  []Timer
	Replies []Reply
	// Notes are for the operator's log.
	Notes []Note
	// Divisible records may be written in several batches: clean-up work.
	Divisible bool
	// Alone records are a batch of their own: transactional ones.
	Alone bool
	// Refused, if set, decides what follows when the log does not take the records. Nothing of them was applied.
	Refused func(now time.Time, code protocol.ErrorCode) Outcome
}

// Reply adds an answer; the token 0 is nobody.
func (o *Outcome) Reply(t Token, r kmsg.Response) {
	if t != 0 {
		o.Replies = append(o.Replies, Reply{t, r})
	}
}

// Note is what happened to a group, in a few words.
type Note struct{ Group, Text string }

// Note adds a line for the operator's log.
func (o *Outcome) Note(group, format string, args ...any) {
	o.Notes = append(o.Notes, Note{group, fmt.Sprintf(format, args...)})
}

// Arm sets a timer.
func (o *Outcome) Arm(k TimerKind, group, member string, at time.Time) {
	o.Timers = append(o.Timers, Timer{Kind: k, Group: group, Member: member, At: at})
}

// Cancel takes a timer back.
func (o *Outcome) Cancel(k TimerKind, group, member string) {
	o.Timers = append(o.Timers, Timer{Kind: k, Group: group, Member: member})
}
