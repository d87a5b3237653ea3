package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// BrokerRegistration 0 to 4: a broker makes itself known (KIP-631, directories KIP-858, clean shutdown KIP-966). The
// broker epoch is the offset of the first record that the registration leads to. The broker starts fenced.
func (c *Catalog) BrokerRegistration(r *kmsg.BrokerRegistrationRequest, now time.Time) (*kmsg.BrokerRegistrationResponse, Result, error) {
	image := c.settle()
	existing := image.Broker(r.BrokerID)
	if err := c.checkRegistration(r, existing, now); err != nil {
		return nil, Result{}, err
	}
	rec := c.registrationRecord(r)
	var records []metadata.Record
	if existing != nil && existing.Incarnation == r.IncarnationID {
		rec.BrokerEpoch, rec.Fenced, rec.InControlledShutdown = existing.Epoch, existing.Fenced, existing.InControlledShutdown
	} else {
		clean := r.Version >= 3 && existing != nil && existing.Epoch == r.PreviousBrokerEpoch
		records = c.restart(r.BrokerID, clean)
		rec.BrokerEpoch = c.next
	}
	records = append(records, rec)
	resp := r.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	resp.BrokerEpoch = rec.BrokerEpoch
	return resp, Result{Records: records, Divisible: true}, nil
}

func (c *Catalog) checkRegistration(r *kmsg.BrokerRegistrationRequest, existing *metadata.Broker, now time.Time) error {
	switch {
	case r.ClusterID != c.o.ClusterID:
		return fault(protocol.InconsistentClusterID, "This is cluster %s, the broker belongs to %s", c.o.ClusterID, r.ClusterID)
	case existing != nil && existing.Incarnation != r.IncarnationID && c.alive(c.sessions[r.BrokerID], now):
		return fault(protocol.DuplicateBrokerRegistration,
			"Another process is registered as broker %d; if the broker was restarted, its old session ends within %v", r.BrokerID, c.o.SessionTimeout)
	case r.IsMigratingZkBroker:
		return fault(protocol.BrokerIDNotRegistered, "ZooKeeper brokers cannot register")
	}
	if err := c.checkDirectories(r); err != nil {
		return err
	}
	return c.checkFeatures(r)
}

func (c *Catalog) checkDirectories(r *kmsg.BrokerRegistrationRequest) error {
	image := c.settle()
	if image.MetadataVersion() < metadata.DirectoriesLevel {
		return nil
	}
	if len(r.LogDirs) == 0 {
		return fault(protocol.InvalidRegistration, "No log directories in the registration")
	}
	for i, dir := range r.LogDirs {
		id := protocol.UUID(dir)
		if id.IsReserved() {
			return fault(protocol.InvalidRegistration, "Directory id %s is reserved", id)
		}
		if slices.Contains(r.LogDirs[:i], dir) {
			return fault(protocol.InvalidRegistration, "Directory id %s stands twice in the registration", id)
		}
		for b := range image.Brokers() {
			if b.ID != r.BrokerID && slices.Contains(b.LogDirs, id) {
				return fault(protocol.InvalidRegistration, "Directory id %s belongs to broker %d", id, b.ID)
			}
		}
	}
	return nil
}

// checkFeatures: the broker must support the finalised level of every feature; one it leaves out is 0 to 0.
func (c *Catalog) checkFeatures(r *kmsg.BrokerRegistrationRequest) error {
	image := c.settle()
	named := map[string]metadata.VersionRange{}
	for _, f := range r.Features {
		named[f.Name] = metadata.VersionRange{Feature: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion}
		if level := image.Feature(f.Name); !named[f.Name].Contains(level) {
			return unsupported(named[f.Name], level)
		}
	}
	if _, ok := named[metadata.MetadataVersion]; !ok {
		return fault(protocol.InvalidRegistration, "The registration does not say which metadata.version the broker supports")
	}
	for _, l := range image.Features() {
		if _, ok := named[l.Feature]; !ok && l.Level != 0 {
			return unsupported(metadata.VersionRange{Feature: l.Feature}, l.Level)
		}
	}
	return nil
}

func unsupported(f metadata.VersionRange, level int16) error {
	return fault(protocol.UnsupportedVersion, "The cluster runs %s at level %d, the broker supports %d to %d", f.Feature, level, f.Min, f.Max)
}

func (c *Catalog) registrationRecord(r *kmsg.BrokerRegistrationRequest) *msg.RegisterBrokerRecord {
	rec := msg.NewRegisterBrokerRecord()
	rec.BrokerID, rec.IncarnationID = r.BrokerID, r.IncarnationID
	if r.Rack != nil {
		rack := strings.Clone(*r.Rack)
		rec.Rack = &rack
	}
	for _, l := range r.Listeners {
		rec.EndPoints = append(rec.EndPoints, msg.RegisterBrokerRecordBrokerEndpoint{
			Name: strings.Clone(l.Name), Host: strings.Clone(l.Host), Port: l.Port, SecurityProtocol: l.SecurityProtocol,
		})
	}
	for _, f := range r.Features {
		rec.Features = append(rec.Features, msg.RegisterBrokerRecordBrokerFeature{
			Name: strings.Clone(f.Name), MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion,
		})
	}
	if c.settle().MetadataVersion() >= metadata.DirectoriesLevel {
		for _, dir := range r.LogDirs {
			rec.LogDirs = append(rec.LogDirs, dir)
		}
	}
	return rec
}

// UnregisterBroker 0: an operator takes a broker out for good (KIP-631).
func (c *Catalog) UnregisterBroker(r *kmsg.UnregisterBrokerRequest) (*kmsg.UnregisterBrokerResponse, Result, error) {
	b := c.settle().Broker(r.BrokerID)
	if b == nil {
		return nil, Result{}, fault(protocol.BrokerIDNotRegistered, "Broker %d is not registered", r.BrokerID)
	}
	records := c.leave(c.inISR(b.ID), leaving(b.ID))
	records = append(records, c.leave(c.inELR(b.ID), leaving(b.ID))...)
	records = append(records, &msg.UnregisterBrokerRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch})
	return r.ResponseKind().(*kmsg.UnregisterBrokerResponse), Result{Records: records, Divisible: true}, nil
}

// checkEpoch refuses a request of a broker that is not registered, or was under another epoch.
func (c *Catalog) checkEpoch(id int32, epoch int64) (*metadata.Broker, error) {
	b := c.settle().Broker(id)
	switch {
	case b == nil:
		return nil, fault(protocol.StaleBrokerEpoch, "Broker %d is not registered", id)
	case b.Epoch != epoch:
		return nil, fault(protocol.StaleBrokerEpoch, "Broker %d is registered with epoch %d, not %d", id, b.Epoch, epoch)
	}
	return b, nil
}
