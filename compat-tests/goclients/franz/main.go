// franz-go: admin, every codec, idempotent producer, two group members of
// which one leaves, transactions' absence aside. Prints ok.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok")
}

func run(bootstrap, topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if _, err := adm.CreateTopic(ctx, 6, 1, nil, topic); err != nil {
		return err
	}
	// usable at once: no retry allowed here
	if lag, err := adm.ListEndOffsets(ctx, topic); err != nil || lag.Error() != nil {
		return fmt.Errorf("the topic is not usable when CreateTopics returns: %v %v", err, lag.Error())
	}
	const each = 1000
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	for n, codec := range codecs {
		p, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic))
		if err != nil {
			return err
		}
		for i := range each {
			p.Produce(ctx, &kgo.Record{Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, "%d-%d", n, i)}, func(_ *kgo.Record, err error) {
				if err != nil {
					log.Fatal(err)
				}
			})
		}
		if err := p.Flush(ctx); err != nil {
			return err
		}
		p.Close()
	}
	if err := consume(ctx, bootstrap, topic, topic+"-group", each*len(codecs)); err != nil {
		return err
	}
	// the consumer protocol (KIP-848), which this client has to be asked for
	next := context.WithValue(ctx, "opt_in_kafka_next_gen_balancer_beta", true)
	if err := consume(next, bootstrap, topic, topic+"-next", each*len(codecs)); err != nil {
		return fmt.Errorf("consumer protocol: %w", err)
	}
	groups, err := adm.ListGroupsByType(ctx, []string{"consumer"})
	if err != nil {
		return err
	}
	if _, ok := groups[topic+"-next"]; !ok {
		return fmt.Errorf("%s-next is no consumer group: %v", topic, groups)
	}
	lags, err := adm.Lag(ctx, topic+"-group")
	if err != nil {
		return err
	}
	if total := lags[topic+"-group"].Lag.Total(); total != 0 {
		return fmt.Errorf("lag %d after everything was read and committed", total)
	}
	if _, err := adm.DeleteGroups(ctx, topic+"-group"); err != nil {
		return err
	}
	_, err = adm.DeleteTopics(ctx, topic)
	return err
}

// consume reads with two members; the second leaves half way.
func consume(ctx context.Context, bootstrap, topic, group string, want int) error {
	member := func() (*kgo.Client, error) {
		return kgo.NewClient(kgo.WithContext(ctx), kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	}
	a, err := member()
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := member()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	poll := func(cl *kgo.Client) error {
		pctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		f := cl.PollFetches(pctx)
		f.EachRecord(func(r *kgo.Record) { seen[string(r.Value)] = true })
		return cl.CommitUncommittedOffsets(ctx)
	}
	for len(seen) < want/2 {
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d read: %w", len(seen), want, ctx.Err())
		}
		if err := poll(b); err != nil {
			return err
		}
		if err := poll(a); err != nil {
			return err
		}
	}
	b.Close()
	for len(seen) < want {
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d read: %w", len(seen), want, ctx.Err())
		}
		if err := poll(a); err != nil {
			return err
		}
	}
	return nil
}
