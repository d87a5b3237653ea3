package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/storage"
)

// voter is one of the first controllers of a quorum.
type voter struct {
	id        int32
	host      string
	port      uint16
	directory protocol.UUID
}

// formatting is one run of kafka-storage format.
type formatting struct {
	env     *env
	conf    *config.Static
	cluster string
	release int16            // the level of metadata.version
	levels  map[string]int16 // of all features, metadata.version included
	voters  []voter          // of a quorum that can grow; none for one that is fixed, or that is joined later
	skip    bool             // directories that are formatted already
}

func formatStorage(e *env, conf *config.Static, ns *namespace) error {
	f := &formatting{env: e, conf: conf, cluster: ns.str("cluster-id"), skip: ns.has("ignore-formatted")}
	if ns.has("add-scram") {
		return &terse{"--add-scram is not built yet: start the cluster and add the credentials with kafka-configs."}
	}
	asked, err := parseLevels(ns.values["feature"])
	if err != nil {
		return &javaError{class: "java.lang.RuntimeException", msg: err.Error(), cause: err}
	}
	if ns.has("release-version") {
		if f.release, err = parseMetadataVersion(ns.str("release-version"), false); err != nil {
			return err
		}
	}
	if err := f.chooseVoters(ns); err != nil {
		return err
	}
	if err := f.chooseLevels(asked, ns.has("release-version")); err != nil {
		return err
	}
	return f.run()
}

// chooseVoters finds the first controllers, as far as this file or the options name any.
func (f *formatting) chooseVoters(ns *namespace) error {
	fixed := len(f.conf.Voters) > 0
	if fixed && (ns.has("standalone") || ns.has("initial-controllers")) {
		return &terse{"You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead."}
	}
	var err error
	switch {
	case ns.has("initial-controllers"):
		f.voters, err = parseVoters(ns.str("initial-controllers"))
	case ns.has("standalone"):
		f.voters, err = f.standalone()
	case !ns.has("no-initial-controllers") && f.conf.Roles.Controller && !fixed:
		return &terse{"Because controller.quorum.voters is not set on this controller, you must specify one of the following: --standalone, --initial-controllers, or --no-initial-controllers."}
	}
	return err
}

// standalone is this node as the only voter.
func (f *formatting) standalone() ([]voter, error) {
	for _, l := range f.conf.Listeners {
		if l.Controller {
			return []voter{{f.conf.NodeID, cmp.Or(l.AdvertisedHost, l.Host, "localhost"), uint16(cmp.Or(l.AdvertisedPort, l.Port)), protocol.NewUUID()}}, nil
		}
	}
	return nil, &javaError{class: "java.lang.RuntimeException", msg: "No controller listeners found."}
}

// parseVoters reads id@host:port:directory-id,...
func parseVoters(list string) ([]voter, error) {
	var voters []voter
	for s := range strings.SplitSeq(list, ",") {
		bad := illegalArgument("Failed to parse dynamic voter ID in %s: it is id@host:port:directory-id", s)
		id, rest, ok := strings.Cut(strings.TrimSpace(s), "@")
		colon := strings.LastIndex(rest, ":")
		n, err := strconv.ParseInt(id, 10, 32)
		if !ok || colon < 0 || err != nil || n < 0 {
			return nil, bad
		}
		host, port, err := net.SplitHostPort(rest[:colon])
		p, perr := strconv.ParseUint(port, 10, 16)
		dir, derr := parseTopicID(rest[colon+1:])
		if err != nil || perr != nil || derr != nil {
			return nil, bad
		}
		voters = append(voters, voter{int32(n), host, uint16(p), dir})
	}
	return voters, nil
}

// chooseLevels fixes the level of every feature: what is asked for, else the release's.
func (f *formatting) chooseLevels(asked []featureLevel, byRelease bool) error {
	dynamic := len(f.conf.Voters) == 0
	f.levels = map[string]int16{}
	for _, a := range asked {
		f.levels[a.name] = a.level
	}
	if level, ok := f.levels[metadata.MetadataVersion]; ok {
		if byRelease {
			return &terse{"Use --release-version instead of --feature metadata.version=X to avoid ambiguity."}
		}
		f.release = level
	} else if !byRelease {
		f.release = metadata.LatestLevel
	}
	if f.release < metadata.MinimumLevel || f.release > metadata.LatestLevel {
		return &terse{"metadata.version " + cmp.Or(metadataVersionName(f.release), strconv.Itoa(int(f.release))) + " is not yet stable."}
	}
	f.levels[metadata.MetadataVersion] = f.release
	var names []string
	for _, x := range features() {
		names = append(names, x.name)
		if _, ok := f.levels[x.name]; !ok && x.name != metadata.KRaftVersion {
			f.levels[x.name] = x.defaultLevel(f.release)
		}
	}
	slices.Sort(names)
	for _, a := range asked {
		if a.name != metadata.MetadataVersion && !slices.Contains(names, a.name) {
			return &terse{"Unsupported feature: " + a.name + ". Supported features are: " + strings.Join(names, ", ")}
		}
	}
	if err := f.chooseKRaftVersion(dynamic); err != nil {
		return err
	}
	return f.checkLevels()
}

// chooseKRaftVersion sets kraft.version: 1 for a quorum that can grow, 0 for a fixed one.
func (f *formatting) chooseKRaftVersion(dynamic bool) error {
	level, ok := f.levels[metadata.KRaftVersion]
	const flags = "controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try "
	switch {
	case !ok && dynamic:
		f.levels[metadata.KRaftVersion] = 1
	case !ok:
		f.levels[metadata.KRaftVersion] = 0
	case level == 0 && dynamic:
		return &terse{"Cannot set kraft.version to 0 if " + flags + "removing the --feature flag for kraft.version."}
	case level != 0 && !dynamic:
		return &terse{fmt.Sprintf("Cannot set kraft.version to %d unless %susing one of --standalone, --initial-controllers, or --no-initial-controllers and removing controller.quorum.voters.", level, flags)}
	}
	return nil
}

// checkLevels refuses levels that there are not, or that need a newer metadata.version.
func (f *formatting) checkLevels() error {
	for _, x := range features() {
		v, err := x.version(f.levels[x.name])
		if err != nil {
			return illegalArgument("%s", err)
		}
		if v.needs > f.release {
			return illegalArgument("%s could not be set to %d because it depends on %s level %d", x.name, v.level, metadata.MetadataVersion, v.needs)
		}
	}
	return nil
}

// run formats the directories that are not formatted yet.
func (f *formatting) run() error {
	dirs := logDirectories(f.conf)
	var empty []string
	for _, dir := range dirs {
		p, err := storage.ReadMetaProperties(vfs.OS(), dir)
		switch file := filepath.Join(dir, "meta.properties"); {
		case errors.Is(err, fs.ErrNotExist):
			empty = append(empty, dir)
		case err != nil:
			f.env.println("I/O error trying to read log directory " + dir + ". Ignoring...")
		case p.ClusterID != f.cluster:
			return &javaError{class: "java.lang.RuntimeException", msg: fmt.Sprintf("Invalid cluster.id in: %s. Expected %s, but read %s", file, f.cluster, p.ClusterID)}
		case p.NodeID != f.conf.NodeID:
			return &javaError{class: "java.lang.RuntimeException", msg: fmt.Sprintf("Stored node id %d doesn't match previous node id %d in %s", f.conf.NodeID, p.NodeID, file)}
		case !f.skip:
			return &terse{"Log directory " + dir + " is already formatted. Use --ignore-formatted to ignore this directory and format the others."}
		}
	}
	if len(empty) == 0 {
		f.env.println("All of the log directories are already formatted.")
		return nil
	}
	f.describe()
	for _, dir := range empty {
		if err := f.format(dir); err != nil {
			return err
		}
	}
	return nil
}

// records are the features that the metadata begins with, metadata.version first.
func (f *formatting) records() []*msg.FeatureLevelRecord {
	all := []*msg.FeatureLevelRecord{{Name: metadata.MetadataVersion, FeatureLevel: f.release}}
	for _, name := range slices.Sorted(maps.Keys(f.levels)) {
		if level := f.levels[name]; level > 0 && name != metadata.MetadataVersion && name != metadata.KRaftVersion {
			all = append(all, &msg.FeatureLevelRecord{Name: name, FeatureLevel: level})
		}
	}
	return all
}

// describe prints the first records the way Kafka's tool writes objects.
func (f *formatting) describe() {
	var texts []string
	for _, r := range f.records() {
		texts = append(texts, fmt.Sprintf("ApiMessageAndVersion(FeatureLevelRecord(name='%s', featureLevel=%d) at version 0)", r.Name, r.FeatureLevel))
	}
	f.env.printf("Bootstrap metadata: BootstrapMetadata(records=[%s], metadataVersionLevel=%d, source=format command)\n", strings.Join(texts, ", "), f.release)
}

// format writes one directory: the snapshot that the metadata begins with, if it is for metadata, then meta.properties,
// which makes it formatted.
func (f *formatting) format(dir string) error {
	kind, id := "data", protocol.NewUUID()
	isMetadata := dir == f.conf.MetadataLogDir
	if isMetadata {
		kind = "metadata"
		if len(f.voters) > 0 {
			kind = "dynamic metadata"
		}
		for _, v := range f.voters {
			if v.id == f.conf.NodeID {
				kind, id = "dynamic metadata voter", v.directory
			}
		}
	}
	f.env.printf("Formatting %s directory %s with %s %s.\n", kind, dir, metadata.MetadataVersion, metadataVersionName(f.release))
	files := vfs.OS()
	if err := files.MkdirAll(dir); err != nil {
		return err
	}
	if isMetadata && f.conf.Roles.Controller {
		if err := f.writeSnapshot(files, filepath.Join(dir, "__cluster_metadata-0")); err != nil {
			return err
		}
	}
	return storage.WriteMetaProperties(files, dir, storage.MetaProperties{ClusterID: f.cluster, NodeID: f.conf.NodeID, DirectoryID: id})
}

// writeSnapshot writes the snapshot 0-0 into the metadata log's directory.
func (f *formatting) writeSnapshot(files vfs.FS, dir string) error {
	d := metadata.NewDelta(metadata.New())
	for _, r := range f.records() {
		if err := d.Replay(r); err != nil {
			return err
		}
	}
	d.ReplayKRaftVersion(&msg.KRaftVersionRecord{KRaftVersion: f.levels[metadata.KRaftVersion]})
	d.ReplayVoters(f.voterSet())
	image, err := d.Apply(-1, 0, time.Now().UnixMilli())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := metadata.WriteSnapshot(&b, image); err != nil {
		return err
	}
	if err := files.MkdirAll(dir); err != nil {
		return err
	}
	file, err := files.Create(filepath.Join(dir, metadata.SnapshotID{}.Name()))
	if err != nil {
		return err
	}
	_, err = file.WriteAt(b.Bytes(), 0)
	return errors.Join(err, file.Sync(), file.Close(), files.SyncDir(dir))
}

func (f *formatting) voterSet() *msg.VotersRecord {
	set := &msg.VotersRecord{}
	if len(f.conf.ControllerListeners) == 0 {
		return set
	}
	for _, v := range f.voters {
		set.Voters = append(set.Voters, msg.VotersRecordVoter{VoterID: v.id, VoterDirectoryID: v.directory,
			Endpoints:           []msg.VotersRecordEndpoint{{Name: strings.ToUpper(f.conf.ControllerListeners[0]), Host: v.host, Port: v.port}},
			KRaftVersionFeature: msg.VotersRecordKRaftVersionFeature{MinSupportedVersion: 0, MaxSupportedVersion: 1}})
	}
	return set
}
