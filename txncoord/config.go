package txncoord

import (
	"time"

	"github.com/ottla/ottla/config"
)

// Config is what the coordinator needs of the broker's settings.
type Config struct {
	Partitions     int32         // transaction.state.log.num.partitions
	MaxTimeoutMs   int32         // transaction.max.timeout.ms
	IDExpiration   time.Duration // transactional.id.expiration.ms
	AbortInterval  time.Duration // transaction.abort.timed.out.transaction.cleanup.interval.ms
	RemoveInterval time.Duration // transaction.remove.expired.transaction.cleanup.interval.ms
	LoadBuffer     int           // transaction.state.log.load.buffer.size, bytes read at a time
	RequestTimeout time.Duration // request.timeout.ms: how long an answer waits for its record to be committed
	// Of partition leaders that ask coordinators:
	RetryPause time.Duration // add.partitions.to.txn.retry.backoff.ms
	RetryTime  time.Duration // add.partitions.to.txn.retry.backoff.max.ms, over all
}

// ConfigOf takes the coordinator's settings out of the broker's.
func ConfigOf(v config.Values) Config {
	ms := func(key string) time.Duration { return time.Duration(v.Int(key)) * time.Millisecond }
	return Config{
		Partitions:     v.Int("transaction.state.log.num.partitions"),
		MaxTimeoutMs:   v.Int("transaction.max.timeout.ms"),
		IDExpiration:   ms("transactional.id.expiration.ms"),
		AbortInterval:  ms("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
		RemoveInterval: ms("transaction.remove.expired.transaction.cleanup.interval.ms"),
		LoadBuffer:     int(v.Int("transaction.state.log.load.buffer.size")),
		RequestTimeout: ms("request.timeout.ms"),
		RetryPause:     ms("add.partitions.to.txn.retry.backoff.ms"),
		RetryTime:      ms("add.partitions.to.txn.retry.backoff.max.ms"),
	}
}
