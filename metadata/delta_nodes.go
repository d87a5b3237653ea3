package metadata

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

func (d *Delta) setBroker(b *Broker) {
	d.touchBroker(b.ID)
	d.brokers.set(idKey(b.ID), b)
}

func (d *Delta) touchBroker(id int32) {
	if d.brokerIDs == nil {
		d.brokerIDs = map[int32]struct{}{}
	}
	d.brokerIDs[id] = struct{}{}
}

func brokerFrom(r *msg.RegisterBrokerRecord) *Broker {
	b := &Broker{
		ID: r.BrokerID, Epoch: r.BrokerEpoch, Incarnation: r.IncarnationID, Rack: r.Rack,
		Fenced: r.Fenced, InControlledShutdown: r.InControlledShutdown, Migrating: r.IsMigratingZkBroker,
		LogDirs: sortedDirs(r.LogDirs), CordonedDirs: sortedDirs(r.CordonedLogDirs),
	}
	for _, e := range r.EndPoints {
		b.Listeners = append(b.Listeners, Endpoint{e.Name, e.Host, e.Port, SecurityProtocol(e.SecurityProtocol)})
	}
	for _, f := range r.Features {
		b.Features = append(b.Features, VersionRange{f.Name, f.MinSupportedVersion, f.MaxSupportedVersion})
	}
	slices.SortFunc(b.Features, byFeature)
	return b
}

// sortedDirs keeps nil apart from empty.
func sortedDirs(dirs []protocol.UUID) []protocol.UUID {
	if dirs == nil {
		return nil
	}
	sorted := append([]protocol.UUID{}, dirs...)
	slices.SortFunc(sorted, func(a, b protocol.UUID) int { return slices.Compare(a[:], b[:]) })
	return sorted
}

func byFeature(a, b VersionRange) int { return cmp.Compare(a.Feature, b.Feature) }

func controllerFrom(r *msg.RegisterControllerRecord) *Controller {
	c := &Controller{ID: r.ControllerID, Incarnation: r.IncarnationID, MigrationReady: r.ZkMigrationReady}
	for _, e := range r.EndPoints {
		c.Listeners = append(c.Listeners, Endpoint{e.Name, e.Host, e.Port, SecurityProtocol(e.SecurityProtocol)})
	}
	for _, f := range r.Features {
		c.Features = append(c.Features, VersionRange{f.Name, f.MinSupportedVersion, f.MaxSupportedVersion})
	}
	slices.SortFunc(c.Features, byFeature)
	return c
}

func (d *Delta) unregisterBroker(r *msg.UnregisterBrokerRecord) error {
	if _, err := d.brokerAt(r.BrokerID, r.BrokerEpoch); err != nil {
		return err
	}
	d.touchBroker(r.BrokerID)
	d.brokers.delete(idKey(r.BrokerID))
	return nil
}

func (d *Delta) brokerAt(id int32, epoch int64) (*Broker, error) {
	b, ok := d.brokers.get(idKey(id))
	if !ok {
		return nil, fmt.Errorf("broker %d is not registered", id)
	}
	if b.Epoch != epoch {
		return nil, fmt.Errorf("broker %d has epoch %d, the record %d", id, b.Epoch, epoch)
	}
	return b, nil
}

func (d *Delta) changeBroker(id int32, epoch int64, change func(*Broker)) error {
	b, err := d.brokerAt(id, epoch)
	if err != nil {
		return err
	}
	c := *b
	change(&c)
	d.setBroker(&c)
	return nil
}

func (d *Delta) brokerRegistrationChange(r *msg.BrokerRegistrationChangeRecord) error {
	if r.Fenced < -1 || r.Fenced > 1 || r.InControlledShutdown < 0 || r.InControlledShutdown > 1 {
		return fmt.Errorf("broker %d: fenced %d, in controlled shutdown %d", r.BrokerID, r.Fenced, r.InControlledShutdown)
	}
	return d.changeBroker(r.BrokerID, r.BrokerEpoch, func(b *Broker) {
		if r.Fenced != 0 {
			b.Fenced = r.Fenced > 0
		}
		b.InControlledShutdown = b.InControlledShutdown || r.InControlledShutdown == 1
		if len(r.LogDirs) > 0 {
			b.LogDirs = sortedDirs(r.LogDirs)
		}
		if r.CordonedLogDirs != nil {
			b.CordonedDirs = sortedDirs(r.CordonedLogDirs)
		}
	})
}
