package cli

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/ottla/ottla/protocol"
)

// eventLog prints the events of the verifiable tools, one JSON object a line, as soon as they happen.
type eventLog struct {
	mu  sync.Mutex
	env *env
}

// event is what every event begins with.
type event struct {
	Timestamp int64  `json:"timestamp"`
	Name      string `json:"name"`
}

func eventNamed(name string) event { return event{time.Now().UnixMilli(), name} }

// print writes an event, which may be called from several goroutines.
func (l *eventLog) print(v any) {
	text, err := json.Marshal(v)
	if err != nil { // only strings and numbers are in events
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.env.out.Write(append(text, '\n'))
	l.env.flush()
}

// partitionJSON is a partition in an event.
type partitionJSON struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// partitionsJSON lists partitions, sorted.
func partitionsJSON(m map[string][]int32) []partitionJSON {
	var tps []protocol.TopicPartition
	for topic, ps := range m {
		for _, p := range ps {
			tps = append(tps, protocol.TopicPartition{Topic: topic, Partition: p})
		}
	}
	sortPartitions(tps)
	list := []partitionJSON{}
	for _, tp := range tps {
		list = append(list, partitionJSON{tp.Topic, tp.Partition})
	}
	return list
}
