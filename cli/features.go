package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
)

// featureLevel is a feature and a level, as feature=level on the command line.
type featureLevel struct {
	name  string
	level int16
}

// runFeatures is kafka-features: show and change the features of a cluster.
func runFeatures(e *env) int {
	ns, err := parseCommand(featuresCommand(), e.args)
	if err == nil {
		err = featuresAction(e, ns)
	}
	var bad *argError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &bad) && bad.help:
		e.complain(bad)
		return 0
	case errors.As(err, &bad):
		e.errorf("Command line error: %s. Type --help for help.", bad.msg)
	default:
		e.errorln(err)
	}
	return 1
}

func featuresCommand() command {
	release := argument{names: []string{"--release-version"}, help: "Levels of all features as in this release, as in 4.0-IV3; version-mapping shows which these are."}
	old := argument{names: []string{"--metadata"}, help: "DEPRECATED: the level of metadata.version by name."}
	level := argument{names: []string{"--feature"}, help: "A feature and its level, as in metadata.version=25; may be repeated."}
	dry := argument{names: []string{"--dry-run"}, flag: true, help: "Only ask whether it could be done."}
	unsafe := argument{names: []string{"--unsafe"}, flag: true, help: "Do it even if metadata is lost for good."}
	return command{name: "kafka-features", help: "Shows and changes the features of a cluster.",
		args: []argument{
			{names: []string{"--command-config"}, help: "Properties file with settings for the connection."},
			{names: []string{"--bootstrap-server"}, group: "bootstrap", help: "host:port of a broker, or several separated by commas."},
			{names: []string{"--bootstrap-controller"}, group: "bootstrap", help: "host:port of a controller, or several separated by commas."},
		},
		subs: []command{
			{name: "describe", help: "Show the features and their levels.", args: []argument{{names: []string{"--node-id"}, number: true, help: "The node to ask."}}},
			{name: "upgrade", help: "Raise the levels of features.", args: []argument{old, release, level, dry}},
			{name: "downgrade", help: "Lower the levels of features.", args: []argument{old, release, level, unsafe, dry}},
			{name: "disable", help: "Lower the levels of features to 0.", args: []argument{{names: []string{"--feature"}, help: "A feature; may be repeated."}, unsafe, dry}},
			{name: "version-mapping", help: "Show which levels a release has.", args: []argument{release}},
			{name: "feature-dependencies", help: "Show what a level of a feature needs.", args: []argument{
				{names: []string{"--feature"}, required: true, help: "A feature and its level, as in group.version=1; may be repeated."}}},
		}}
}

func featuresAction(e *env, ns *namespace) error {
	switch ns.command {
	case "version-mapping":
		return printVersionMapping(e, ns.str("release-version"))
	case "feature-dependencies":
		levels, err := parseLevels(ns.values["feature"])
		if err != nil {
			return err
		}
		return printDependencies(e, levels)
	}
	conf, err := loadConfig(ns.str("command-config"))
	if err != nil {
		return err
	}
	if !ns.has("bootstrap-server") && !ns.has("bootstrap-controller") {
		return &argError{msg: "You must specify either --bootstrap-controller or --bootstrap-server."}
	}
	c, err := e.connectEither(conf, ns.str("bootstrap-server"), ns.str("bootstrap-controller"))
	if err != nil {
		return err
	}
	defer c.close()
	if ns.command == "describe" {
		return describeFeatures(e, c, ns)
	}
	return updateFeatures(e, c, ns)
}

func describeFeatures(e *env, c *cluster, ns *namespace) error {
	node := int64(-1)
	if ns.has("node-id") {
		if node = ns.int("node-id"); node < 0 {
			return illegalArgument("Invalid node id %d: must be non-negative.", node)
		}
	}
	resp, err := c.askVersions(node)
	if err != nil {
		return asExecution(err)
	}
	epoch := "-"
	if resp.FinalizedFeaturesEpoch >= 0 {
		epoch = strconv.FormatInt(resp.FinalizedFeaturesEpoch, 10)
	}
	slices.SortFunc(resp.SupportedFeatures, func(a, b kmsg.ApiVersionsResponseSupportedFeature) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range resp.SupportedFeatures {
		var finalized int16
		for _, level := range resp.FinalizedFeatures {
			if level.Name == f.Name {
				finalized = level.MaxVersionLevel
			}
		}
		e.printf("Feature: %-40s  SupportedMinVersion: %-15s  SupportedMaxVersion: %-15s  FinalizedVersionLevel: %-15s  Epoch: %s\n",
			f.Name, levelName(f.Name, f.MinVersion), levelName(f.Name, f.MaxVersion), levelName(f.Name, finalized), epoch)
	}
	return nil
}

func levelName(feature string, level int16) string {
	if feature != metadata.MetadataVersion {
		return strconv.Itoa(int(level))
	}
	return cmp.Or(metadataVersionName(level), fmt.Sprintf("UNKNOWN %d", level))
}

// askVersions asks a node, or any node for -1, which versions and features it has.
func (c *cluster) askVersions(node int64) (*kmsg.ApiVersionsResponse, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "ottla", kafkaVersion
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	var resp kmsg.Response
	var err error
	if node < 0 || c.direct {
		resp, err = c.askSeeds(ctx, req)
	} else {
		if err = c.await(ctx); err == nil {
			resp, err = c.cl.Broker(int(node)).RetriableRequest(ctx, req)
		}
	}
	if err != nil {
		return nil, callError("describeFeatures", err)
	}
	versions := resp.(*kmsg.ApiVersionsResponse)
	return versions, coded(versions.ErrorCode, nil)
}

// parseLevels reads feature=level arguments.
func parseLevels(args []string) ([]featureLevel, error) {
	var levels []featureLevel
	for _, a := range args {
		name, text, ok := strings.Cut(a, "=")
		if !ok {
			return nil, fmt.Errorf("Can't parse feature=level string %s: equals sign not found.", a) //nolint:revive,staticcheck // Kafka's text
		}
		text = strings.TrimSpace(text)
		n, err := strconv.ParseInt(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("Can't parse feature=level string %s: unable to parse %s as a short.", a, text) //nolint:revive,staticcheck // Kafka's text
		}
		levels = append(levels, featureLevel{strings.TrimSpace(name), int16(n)})
	}
	return levels, nil
}

// Upgrade types of UpdateFeatures.
const (
	upgrade         = 1
	safeDowngrade   = 2
	unsafeDowngrade = 3
)

// wantedLevels are the features to change and their new levels, from the options of the subcommand.
func wantedLevels(e *env, ns *namespace) ([]featureLevel, error) {
	if ns.command == "disable" {
		var levels []featureLevel
		for _, name := range ns.values["feature"] {
			levels = append(levels, featureLevel{name, 0})
		}
		return levels, nil
	}
	if ns.has("release-version") && (ns.has("metadata") || ns.has("feature")) {
		return nil, &terse{"Can not specify `release-version` with other feature flags."}
	}
	levels, err := parseLevels(ns.values["feature"])
	if err != nil {
		return nil, err
	}
	if ns.has("release-version") {
		level, err := parseMetadataVersion(ns.str("release-version"), true)
		if err != nil {
			return nil, err
		}
		levels = append(levels, featureLevel{metadata.MetadataVersion, level})
		for _, f := range features() {
			if l := f.defaultLevel(level); l > 0 || ns.command != "upgrade" {
				levels = append(levels, featureLevel{f.name, l})
			}
		}
	}
	if ns.has("metadata") {
		e.println(" `metadata` flag is deprecated and may be removed in a future release.")
		level, err := parseMetadataVersion(ns.str("metadata"), true)
		if err != nil {
			return nil, err
		}
		levels = append(levels, featureLevel{metadata.MetadataVersion, level})
	}
	return levels, nil
}

func updateFeatures(e *env, c *cluster, ns *namespace) error {
	levels, err := wantedLevels(e, ns)
	if err != nil {
		return err
	}
	if len(levels) == 0 {
		return &terse{"You must specify at least one feature to " + ns.command}
	}
	slices.SortFunc(levels, func(a, b featureLevel) int { return cmp.Compare(a.name, b.name) })
	kind := int8(upgrade)
	switch {
	case ns.has("unsafe"):
		kind = unsafeDowngrade
	case ns.command != "upgrade":
		kind = safeDowngrade
	}
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.TimeoutMillis, req.ValidateOnly = int32(c.timeout.Milliseconds()), ns.has("dry-run")
	for i, l := range levels {
		if i > 0 && levels[i-1].name == l.name {
			return &terse{"Feature " + l.name + " was specified more than once."}
		}
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType = l.name, l.level, kind
		req.FeatureUpdates = append(req.FeatureUpdates, u)
	}
	resp, err := request[*kmsg.UpdateFeaturesResponse](c, "updateFeatures", req)
	if err != nil {
		return err
	}
	return printUpdates(e, ns, levels, resp)
}

// printUpdates says of each feature what became of it. Since version 2 the answer is one error for all.
func printUpdates(e *env, ns *namespace, levels []featureLevel, resp *kmsg.UpdateFeaturesResponse) error {
	failed := 0
	could, was := "Could not ", " was "
	if ns.has("dry-run") {
		could, was = "Can not ", " can be "
	}
	for _, l := range levels {
		err := coded(resp.ErrorCode, resp.ErrorMessage)
		for _, r := range resp.Results {
			if r.Feature == l.name && err == nil {
				err = coded(r.ErrorCode, r.ErrorMessage)
			}
		}
		switch disable := ns.command == "disable"; {
		case err != nil && disable:
			e.println(could + "disable " + l.name + ". " + err.Error())
			failed++
		case err != nil:
			e.printf("%s%s %s to %d. %s\n", could, ns.command, l.name, l.level, err)
			failed++
		case disable:
			e.println(l.name + was + "disabled.")
		default:
			e.printf("%s%s%sd to %d.\n", l.name, was, ns.command, l.level)
		}
	}
	if failed > 0 {
		return &terse{fmt.Sprintf("%d out of %d operation(s) failed.", failed, len(levels))}
	}
	return nil
}
