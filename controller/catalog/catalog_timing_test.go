package catalog

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
)

// grown has a broker and n topics of one partition.
func grown(b testing.TB, n int) *cluster {
	k := newCluster(b, testOptions(b), 1)
	for i := 0; i < n; i += 5000 {
		r := newest(kmsg.NewPtrCreateTopicsRequest())
		for j := range min(5000, n-i) {
			r.Topics = append(r.Topics, creation(fmt.Sprintf("some_topic.%d", i+j), 1, 1))
		}
		k.apply(b, r)
	}
	return k
}

// apply decides and applies without the checks of the tests.
func (k *cluster) apply(b testing.TB, req kmsg.Request) {
	_, res, err, _ := k.c.Decide(req, k.now)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range res.Records {
		if _, err := metadata.EncodeRecord(nil, r, metadata.VersionFor(r, metadata.LatestLevel)); err != nil {
			b.Fatal(err)
		}
		if err := k.c.Apply(k.c.NextOffset(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCreateTopic makes topics one by one on top of those that are there: the cost must not depend on their number.
func BenchmarkCreateTopic(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k := grown(b, n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r := newest(kmsg.NewPtrCreateTopicsRequest())
				r.Topics = append(r.Topics, creation(fmt.Sprintf("new_topic.%d", i), 1, 1))
				k.apply(b, r)
				i++
			}
		})
	}
}

// BenchmarkRestart is a broker of ten thousand partitions that was killed: registration and unfence.
func BenchmarkRestart(b *testing.B) {
	k := grown(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		k.now = k.now.Add(10 * k.c.o.SessionTimeout)
		k.apply(b, k.registration(1))
		k.apply(b, k.heartbeat(1))
	}
}
