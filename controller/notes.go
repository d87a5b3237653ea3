package controller

import (
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/controller/catalog"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol/msg"
)

// note writes the log lines an operator looks for: topics that come and go, brokers, features.
func (m *machine) note(req kmsg.Request, res catalog.Result) {
	log := m.s.o.Logger
	image, err := m.c.Image()
	if err != nil {
		return // what follows will say so
	}
	for _, r := range res.Records {
		switch r := r.(type) {
		case *msg.TopicRecord:
			log.Info("Creating topic", zap.String("topic", r.Name), zap.Stringer("id", r.TopicID), zap.Int("partitions", partitionsOf(res.Records, r)))
		case *msg.RemoveTopicRecord:
			log.Info("Deleting topic", zap.String("topic", nameOf(image, r)), zap.Stringer("id", r.TopicID))
		case *msg.RegisterBrokerRecord:
			log.Info("Registering broker", zap.Int32("broker", r.BrokerID), zap.Int64("epoch", r.BrokerEpoch),
				zap.Stringer("incarnation", r.IncarnationID), zap.Int("clean-up records", len(res.Records)-1))
		case *msg.BrokerRegistrationChangeRecord:
			log.Info("Changing broker", zap.Int32("broker", r.BrokerID), zap.Int64("epoch", r.BrokerEpoch), zap.String("fenced", fencing(r.Fenced)),
				zap.Bool("in controlled shutdown", r.InControlledShutdown != 0), zap.Int("partition changes", len(res.Records)-1))
		case *msg.FeatureLevelRecord:
			log.Info("Finalizing feature", zap.String("feature", r.Name), zap.Int16("level", r.FeatureLevel))
		}
	}
	if len(res.Records) > 0 {
		log.Debug("Decided", zap.String("api", kmsg.NameForKey(req.Key())), zap.Int("records", len(res.Records)))
	}
}

func partitionsOf(records []metadata.Record, t *msg.TopicRecord) (n int) {
	for _, r := range records {
		if p, ok := r.(*msg.PartitionRecord); ok && p.TopicID == t.TopicID {
			n++
		}
	}
	return n
}

func nameOf(image *metadata.Image, r *msg.RemoveTopicRecord) string {
	if t := image.TopicByID(r.TopicID); t != nil {
		return t.Name
	}
	return ""
}

func fencing(change int8) string {
	switch change {
	case 1:
		return "yes"
	case -1:
		return "no longer"
	}
	return "unchanged"
}
