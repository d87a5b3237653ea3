package catalog

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// Upgrade types of UpdateFeatures.
const (
	upgrade         int8 = 1
	safeDowngrade   int8 = 2
	unsafeDowngrade int8 = 3
)

// UpdateFeatures 0 to 2 (KIP-584, KIP-778): all of the updates are made, or none.
func (c *Catalog) UpdateFeatures(r *kmsg.UpdateFeaturesRequest) (*kmsg.UpdateFeaturesResponse, Result, error) {
	resp := r.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	noError := "NONE" // Kafka's text where all is well
	after := map[string]int16{}
	for _, l := range c.settle().Features() {
		after[l.Feature] = l.Level
	}
	for _, u := range r.FeatureUpdates {
		after[u.Feature] = u.MaxVersionLevel
	}
	var records []metadata.Record
	if after[metadata.ELRVersion] > 0 && !c.elr() {
		records = c.elrSafety()
	}
	for i := range r.FeatureUpdates {
		rec, err := c.updateFeature(r.Version, &r.FeatureUpdates[i], after)
		if err != nil {
			return nil, Result{}, fault(protocol.CodeOf(err), "The update failed for all features since the following feature had an error: %s", text(err))
		}
		if rec != nil {
			records = append(records, rec)
		}
		if r.Version <= 1 {
			out := kmsg.NewUpdateFeaturesResponseResult()
			out.Feature, out.ErrorMessage = r.FeatureUpdates[i].Feature, &noError
			resp.Results = append(resp.Results, out)
		}
	}
	if r.ValidateOnly {
		records = nil
	}
	return resp, Result{Records: records}, nil
}

func (c *Catalog) updateFeature(version int16, u *kmsg.UpdateFeaturesRequestFeatureUpdate, after map[string]int16) (metadata.Record, error) {
	refuse := func(format string, args ...any) error {
		return fault(protocol.InvalidUpdateVersion, "Invalid update version %d for feature %s. %s", u.MaxVersionLevel, u.Feature, fmt.Sprintf(format, args...))
	}
	kind := upgradeType(version, u)
	level, now := u.MaxVersionLevel, c.settle().Feature(u.Feature)
	if u.Feature == metadata.MetadataVersion {
		now = c.settle().MetadataVersion()
	}
	switch {
	case kind < upgrade || kind > unsafeDowngrade:
		return nil, refuse("The controller does not support the given upgrade type.")
	case level < 0:
		return nil, refuse("A feature version cannot be less than 0.")
	}
	if why := c.notSupported(u.Feature, level); why != "" {
		return nil, refuse("%s", why)
	}
	switch {
	case level < now && kind == upgrade:
		return nil, refuse("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case level > now && kind != upgrade:
		return nil, refuse("Can't downgrade to a newer version.")
	}
	switch u.Feature {
	case metadata.MetadataVersion:
		return c.updateMetadataVersion(now, level, kind)
	case metadata.KRaftVersion:
		if level != now {
			return nil, refuse("The quorum keeps kraft.version %d.", now)
		}
		return nil, nil
	}
	if !slices.ContainsFunc(c.o.Supported, func(f metadata.VersionRange) bool { return f.Feature == u.Feature }) {
		return nil, refuse("There is no such feature.")
	}
	if mv := after[metadata.MetadataVersion]; u.Feature == metadata.ELRVersion && level > 0 && mv < metadata.ELRLevel {
		return nil, refuse("It depends on metadata.version %d, which would be %d.", metadata.ELRLevel, mv)
	}
	return &msg.FeatureLevelRecord{Name: u.Feature, FeatureLevel: level}, nil
}

// upgradeType is what the client asked for; version 0 only says whether a downgrade is allowed.
func upgradeType(version int16, u *kmsg.UpdateFeaturesRequestFeatureUpdate) int8 {
	switch {
	case version >= 1:
		return u.UpgradeType
	case u.AllowDowngrade:
		return safeDowngrade
	}
	return upgrade
}

// notSupported says which node does not support the level, "" if all do.
func (c *Catalog) notSupported(feature string, level int16) string {
	own := metadata.VersionRange{Feature: feature}
	if i := slices.IndexFunc(c.o.Supported, func(f metadata.VersionRange) bool { return f.Feature == feature }); i >= 0 {
		own = c.o.Supported[i]
	}
	if why := refusal(own, level); why != "" {
		return fmt.Sprintf("Local controller %d %s", c.o.NodeID, why)
	}
	for b := range c.settle().Brokers() {
		if why := refusal(b.Feature(feature), level); why != "" {
			return fmt.Sprintf("Broker %d %s", b.ID, why)
		}
	}
	for n := range c.settle().Controllers() {
		if n.ID == c.o.NodeID {
			continue
		}
		if why := refusal(n.Feature(feature), level); why != "" {
			return fmt.Sprintf("Controller %d %s", n.ID, why)
		}
	}
	return c.unregisteredVoter()
}

func refusal(f metadata.VersionRange, level int16) string {
	switch {
	case f.Contains(level):
		return ""
	case f.Max == 0:
		return "does not support this feature."
	}
	return fmt.Sprintf("only supports versions %d-%d", f.Min, f.Max)
}

// unregisteredVoter names a controller of the quorum that has not said yet what it supports.
func (c *Catalog) unregisteredVoter() string {
	image := c.settle()
	if image.MetadataVersion() < metadata.ControllerRegistrationLevel {
		return ""
	}
	for _, v := range image.Voters() {
		if v.VoterID != c.o.NodeID && image.Controller(v.VoterID) == nil {
			return fmt.Sprintf("controller %d has not registered, and may not support this feature", v.VoterID)
		}
	}
	return ""
}

// changesRecords lists the levels of metadata.version that brought record types or fields: going below one again
// could lose metadata.
var changesRecords = []int16{8, 11, 13, 14, 15, 17, 23, 30, 32, 33}

func (c *Catalog) updateMetadataVersion(now, level int16, kind int8) (metadata.Record, error) {
	if level < now && slices.ContainsFunc(changesRecords, func(l int16) bool { return level < l && l <= now }) {
		why := "Refusing to perform the requested downgrade because it might delete metadata information."
		if kind == unsafeDowngrade {
			why = "Unsafe metadata downgrade is not supported in this version."
		}
		return nil, fault(protocol.InvalidUpdateVersion, "Unsupported metadata.version downgrade from %d to %d. %s", now, level, why)
	}
	return &msg.FeatureLevelRecord{Name: metadata.MetadataVersion, FeatureLevel: level}, nil
}

// elrSafety fixes min.insync.replicas for the cluster and takes it off single brokers, before eligible leader
// replicas are turned on.
func (c *Catalog) elrSafety() []metadata.Record {
	image := c.settle()
	var out []metadata.Record
	if _, set := image.Config(metadata.AllBrokers)[minISRKey]; !set {
		out = append(out, c.clusterMinISR())
	}
	for name := range image.ConfigsOf(metadata.BrokerResource) {
		if _, set := image.Config(metadata.Resource{Type: metadata.BrokerResource, Name: name})[minISRKey]; set && name != "" {
			out = append(out, &msg.ConfigRecord{ResourceType: int8(metadata.BrokerResource), ResourceName: name, Name: minISRKey})
		}
	}
	return out
}
