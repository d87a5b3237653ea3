// sarama: admin, sync and idempotent producers, a consumer group. Prints ok.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok")
}

func run(bootstrap, topic string) error {
	addrs := []string{bootstrap}
	conf := sarama.NewConfig()
	conf.Version = sarama.V3_6_0_0
	conf.Producer.Return.Successes = true
	conf.Producer.RequiredAcks = sarama.WaitForAll
	conf.Consumer.Offsets.Initial = sarama.OffsetOldest
	admin, err := sarama.NewClusterAdmin(addrs, conf)
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false); err != nil {
		return err
	}
	const each = 500
	total := 0
	for _, idempotent := range []bool{false, true} {
		for _, codec := range []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD} {
			pc := *conf
			pc.Producer.Compression, pc.Producer.Idempotent = codec, idempotent
			if idempotent {
				pc.Net.MaxOpenRequests = 1
			}
			if err := produce(addrs, &pc, topic, each, fmt.Sprintf("%v-%v", idempotent, codec)); err != nil {
				return fmt.Errorf("%v, idempotent %v: %w", codec, idempotent, err)
			}
			total += each
		}
	}
	if err := consume(addrs, conf, topic, total); err != nil {
		return err
	}
	if err := admin.DeleteConsumerGroup(topic + "-group"); err != nil {
		return err
	}
	return admin.DeleteTopic(topic)
}

func produce(addrs []string, conf *sarama.Config, topic string, n int, prefix string) error {
	p, err := sarama.NewSyncProducer(addrs, conf)
	if err != nil {
		return err
	}
	defer p.Close()
	var batch []*sarama.ProducerMessage
	for i := range n {
		batch = append(batch, &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(fmt.Sprint(i)), Value: sarama.StringEncoder(fmt.Sprintf("%s-%d", prefix, i))})
	}
	return p.SendMessages(batch)
}

type handler struct {
	mu   sync.Mutex
	seen map[string]bool // mu
	want int
	done context.CancelFunc
}

func (h *handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (h *handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			h.mu.Lock()
			h.seen[string(m.Value)] = true
			all := len(h.seen) == h.want
			h.mu.Unlock()
			s.MarkMessage(m, "")
			if all {
				s.Commit()
				h.done()
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func consume(addrs []string, conf *sarama.Config, topic string, want int) error {
	g, err := sarama.NewConsumerGroup(addrs, topic+"-group", conf)
	if err != nil {
		return err
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h := &handler{seen: map[string]bool{}, want: want, done: cancel}
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{topic}, h); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) != want {
		return fmt.Errorf("%d of %d read", len(h.seen), want)
	}
	return nil
}
