package replication

import (
	"time"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// AllReplicas is the acks that wait for all in-sync replicas.
const AllReplicas int16 = -1

// AppendOptions say on whose behalf and on what terms a batch is appended.
type AppendOptions struct {
	Acks        int16          // −1, 0 or 1
	Origin      storage.Origin // Client or Coordinator
	LeaderEpoch int32          // the append is refused under another one; AnyEpoch for clients
	RefuseZstd  bool           // the Produce request's version is below 7
	Guard       storage.Guard  // of a transactional batch, from StartVerification
}

// AppendResult is where a batch went.
type AppendResult struct {
	storage.AppendInfo
	// AwaitOffset is the high watermark at which all in-sync replicas have the batch.
	AwaitOffset int64
	// Replicated says that it is there already, as on a partition without followers: acks −1 can be
	// answered without waiting.
	Replicated bool
}

// Append checks the records of one partition as its topic's configuration says and appends them.
// batches may be rewritten in place and is not used afterwards. Errors: those of record.Validate (a
// *record.Rejection), NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
// NOT_ENOUGH_REPLICAS (acks −1 only), KAFKA_STORAGE_ERROR and those of storage.Log.AppendAsLeader.
// With acks −1 the answer is due when OnHighWatermark(AwaitOffset) calls back.
func (p *Partition) Append(batches []byte, o AppendOptions) (AppendResult, error) {
	r, due, err := p.append(batches, o, time.Now().UnixMilli())
	due.call()
	return r, err
}

func (p *Partition) append(batches []byte, o AppendOptions, now int64) (r AppendResult, due answers, err error) {
	p.roleMu.RLock()
	defer p.roleMu.RUnlock()
	log, err := p.lead(o.LeaderEpoch)
	if err != nil {
		return r, due, err
	}
	if o.Acks == AllReplicas && !p.enough() {
		return r, due, protocol.NotEnoughReplicas
	}
	rules := p.rules.Load().record
	rules.RefuseZstd, rules.Internal = o.RefuseZstd, o.Origin != storage.Client
	batch, _, err := record.Validate(batches, rules, now)
	if err != nil {
		return r, due, err
	}
	info, err := log.AppendVerified(batch, p.role.epoch, o.Origin, o.Guard, now)
	if err != nil {
		return r, due, err
	}
	r, due = p.appended(log, info, now)
	return r, due, nil
}

// appended is what follows an append. roleMu is held and this broker leads.
func (p *Partition) appended(log *storage.Log, info storage.AppendInfo, now int64) (r AppendResult, due answers) {
	if !info.Duplicate {
		due = p.advance(info.Bytes, now)
	}
	r = AppendResult{AppendInfo: info, AwaitOffset: info.LastOffset + 1}
	r.Replicated = log.HighWatermark() >= r.AwaitOffset && p.enough()
	return r, due
}

// advance moves the high watermark as far as the in-sync replicas allow, wakes the readers, and
// returns the producers to be answered. appended is the bytes that this call follows, 0 if it follows
// something else. roleMu is held and this broker leads.
func (p *Partition) advance(appended int, now int64) answers {
	log := p.role.log
	p.stateMu.Lock()
	alone := p.state.Alone()
	high, moved := p.state.HighWatermark(log.LogEndOffset(), log.HighWatermark(), p.conditions(now))
	if moved {
		high = log.SetHighWatermark(high)
	}
	p.stateMu.Unlock()
	if appended > 0 {
		p.watches.grown(appended, alone)
	}
	if !moved {
		return answers{}
	}
	if !alone || appended == 0 {
		p.watches.passed()
	}
	return answers{p.acks.reached(high), p.ackError()}
}

// ackError is what acks=all is answered once its offset is reached. roleMu is held.
func (p *Partition) ackError() error {
	if !p.enough() {
		return protocol.NotEnoughReplicasAfterAppend
	}
	return nil
}
