package cli

import (
	"fmt"
	"strings"

	"github.com/ottla/ottla/metadata"
)

// metadataVersions are the names of the levels of metadata.version, from metadata.MinimumLevel on. The last one is not
// in production in 4.4.
var metadataVersions = []string{"3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0",
	"3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0",
	"4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0", "4.4-IV0", "4.4-IV1", "4.4-IV2", "4.5-IV0"}

// metadataVersionName is the name of a level, "" if there is none.
func metadataVersionName(level int16) string {
	i := int(level - metadata.MinimumLevel)
	if i < 0 || i >= len(metadataVersions) {
		return ""
	}
	return metadataVersions[i]
}

// parseMetadataVersion finds the level of a name like 4.0-IV3; a release like 4.0 or 4.0.1 is its last level. Levels
// that are not in production are found only with unstable.
func parseMetadataVersion(s string, unstable bool) (int16, error) {
	known := metadataVersions
	if !unstable {
		known = known[:metadata.LatestLevel-metadata.MinimumLevel+1]
	}
	name := s
	if parts := strings.Split(s, "."); len(parts) > 2 {
		name = strings.Join(parts[:2], ".")
	}
	for i := len(known) - 1; i >= 0; i-- {
		if release, _, _ := strings.Cut(known[i], "-"); known[i] == name || release == name {
			return metadata.MinimumLevel + int16(i), nil
		}
	}
	return 0, &terse{fmt.Sprintf("Unknown metadata.version '%s'. Supported metadata.version are: %s", s, strings.Join(known, ", "))}
}

// featureVersion is one level of a feature: the metadata.version from which on it is the default, and the one that it
// needs, 0 for none.
type featureVersion struct{ level, since, needs int16 }

// feature is one feature with its levels above 0.
type feature struct {
	name     string
	versions []featureVersion
}

// features are the features of Kafka 4.4 beside metadata.version, in Kafka's order.
func features() []feature {
	return []feature{
		{metadata.KRaftVersion, []featureVersion{{level: 1, since: 21}}},
		{metadata.TransactionVersion, []featureVersion{{level: 1, since: 24}, {level: 2, since: 24}}},
		{metadata.GroupVersion, []featureVersion{{level: 1, since: 22}}},
		{metadata.ELRVersion, []featureVersion{{level: 1, since: 26, needs: metadata.ELRLevel}}},
		{metadata.ShareVersion, []featureVersion{{level: 1, since: 28}, {level: 2, since: 31}}},
		{metadata.StreamsVersion, []featureVersion{{level: 1, since: 29}}},
	}
}

// featureNamed finds a feature.
func featureNamed(name string) (feature, bool) {
	for _, f := range features() {
		if f.name == name {
			return f, true
		}
	}
	return feature{}, false
}

// defaultLevel is the level that a cluster gets with a metadata.version.
func (f feature) defaultLevel(metadataLevel int16) int16 {
	var level int16
	for _, v := range f.versions {
		if v.since <= metadataLevel {
			level = v.level
		}
	}
	return level
}

// version finds a level; level 0 is always there.
func (f feature) version(level int16) (featureVersion, error) {
	if level == 0 {
		return featureVersion{}, nil
	}
	for _, v := range f.versions {
		if v.level == level {
			return v, nil
		}
	}
	return featureVersion{}, &terse{fmt.Sprintf("No feature:%s with feature level %d", f.name, level)}
}

// printVersionMapping is the subcommand version-mapping of kafka-features and kafka-storage.
func printVersionMapping(e *env, release string) error {
	if release == "" {
		release = metadataVersionName(metadata.LatestLevel)
	}
	level, err := parseMetadataVersion(release, true)
	if err != nil {
		return err
	}
	e.printf("%s=%d (%s)\n", metadata.MetadataVersion, level, release)
	for _, f := range features() {
		e.printf("%s=%d\n", f.name, f.defaultLevel(level))
	}
	return nil
}

// printDependencies is the subcommand feature-dependencies of kafka-features and kafka-storage.
func printDependencies(e *env, levels []featureLevel) error {
	for _, l := range levels {
		if l.name == metadata.MetadataVersion {
			name := metadataVersionName(l.level)
			if name == "" {
				return &terse{fmt.Sprintf("Unknown metadata.version %d", l.level)}
			}
			e.printf("%s=%d (%s) has no dependencies.\n", l.name, l.level, name)
			continue
		}
		f, ok := featureNamed(l.name)
		if !ok {
			return &terse{"Unknown feature: " + l.name}
		}
		v, err := f.version(l.level)
		if err != nil {
			return err
		}
		if v.needs == 0 {
			e.printf("%s=%d has no dependencies.\n", l.name, l.level)
			continue
		}
		e.printf("%s=%d requires:\n    %s=%d (%s)\n", l.name, l.level, metadata.MetadataVersion, v.needs, metadataVersionName(v.needs))
	}
	return nil
}
