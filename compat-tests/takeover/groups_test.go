package takeover

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestClassicTakesOver joins a group of the consumer protocol with a classic client: it goes on where the group was,
// and the group is a classic one from then on, also after a restart.
func TestClassicTakesOver(t *testing.T) {
	d := unpack(t, "clean")
	s := d.start()
	cl := s.client(t, kgo.ConsumerGroup("g-consumer"), kgo.ConsumeTopics("plain"), kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(), kgo.FetchMaxWait(100*time.Millisecond))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	first := int64(-1)
	for first < 0 {
		fetches := cl.PollFetches(ctx)
		must(t, ctx.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Partition == 0 && first < 0 {
				first = r.Offset
			}
		})
	}
	if first != 101 {
		t.Errorf("the first record is %d, committed was 101", first)
	}
	cl.Close()
	for _, round := range []string{"at once", "after a restart"} {
		text := strings.Join(s.tool(t, "groups", "--list"), "\n")
		if !strings.Contains(text, "g-consumer           Classic              consumer") || !strings.Contains(text, "g-consumer-live      Consumer") {
			t.Errorf("%s: %s", round, text)
		}
		s.stop()
		if round == "at once" {
			s = d.start()
		}
	}
}
