package takeover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

// image reads the metadata of a stopped directory: the newest snapshot and the log behind it.
func (d *directory) image() *metadata.Image {
	d.t.Helper()
	dir := filepath.Join(d.path, "data", "__cluster_metadata-0")
	f := metadata.NewFollower(metadata.New())
	if id, path := d.newestSnapshot(); id.EndOffset > 0 {
		text, err := os.ReadFile(path)
		must(d.t, err)
		image, err := metadata.ReadSnapshot(bytes.NewReader(text), id)
		must(d.t, err)
		f = metadata.NewFollower(image)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "*.log"))
	must(d.t, err)
	slices.Sort(segments)
	for _, s := range segments {
		rest, err := os.ReadFile(s)
		must(d.t, err)
		for len(rest) > 0 {
			var b record.Batch
			b, rest, err = record.Next(rest)
			must(d.t, err)
			must(d.t, f.Batch(b))
		}
	}
	_, err = f.Take()
	must(d.t, err)
	return f.Image()
}

func (d *directory) newestSnapshot() (newest metadata.SnapshotID, path string) {
	d.t.Helper()
	files, err := filepath.Glob(filepath.Join(d.path, "data", "__cluster_metadata-0", "*.checkpoint"))
	must(d.t, err)
	for _, f := range files {
		if id, ok := metadata.ParseSnapshotName(filepath.Base(f)); ok && id.EndOffset >= newest.EndOffset {
			newest, path = id, f
		}
	}
	return newest, path
}

// kept are the records that a run of the server must not change, as text.
func kept(image *metadata.Image, without string) (out []string) {
	for r := range image.Records() {
		switch r := r.(type) {
		case *msg.RegisterBrokerRecord, *msg.RegisterControllerRecord:
			continue
		case *msg.TopicRecord:
			if r.Name == without {
				continue
			}
		case *msg.PartitionRecord:
			if t := image.TopicByID(r.TopicID); t.Name == without {
				continue
			}
			r.LeaderEpoch, r.PartitionEpoch = 0, 0 // a start is an election
		}
		text, err := json.Marshal(r)
		if err != nil {
			text = []byte(err.Error())
		}
		out = append(out, fmt.Sprintf("%T %s", r, bytes.ReplaceAll(text, []byte(":null"), []byte(":[]"))))
	}
	for _, v := range image.Voters() { // whose endpoints are as the file has them now
		out = append(out, fmt.Sprintf("voter %d %s", v.VoterID, v.VoterDirectoryID))
	}
	return append(out, fmt.Sprintf("kraft.version %d", image.Feature(metadata.KRaftVersion)))
}

// TestMetadataKept runs twice on what Kafka wrote, the second time from a snapshot that the first run wrote: ACLs,
// quotas, users, tokens, configs, topics and their ids, features and voters are still the same.
func TestMetadataKept(t *testing.T) {
	const own = "ottla-was-here"
	d := unpack(t, "clean")
	d.settings = append(d.settings, "metadata.log.max.record.bytes.between.snapshots=1", "auto.create.topics.enable=true")
	before := kept(d.image(), own)
	s := d.start()
	cl := s.client(t, kgo.AllowAutoTopicCreation(), kgo.DisableIdempotentWrite())
	must(t, cl.ProduceSync(t.Context(), &kgo.Record{Topic: own, Value: []byte("1")}).FirstErr())
	s.stop()
	if id, path := d.newestSnapshot(); id.EndOffset == 0 {
		t.Error("no snapshot was written, there is only ", path)
	}
	d.start().stop()
	image := d.image()
	if image.Topic(own) == nil {
		t.Error("the new topic is gone")
	}
	compare(t, "metadata", kept(image, own), before)
	meta, err := os.ReadFile(filepath.Join(d.path, "data", "meta.properties"))
	must(t, err)
	for _, want := range []string{"node.id=1", "directory.id=8VRkYgNtSaypgo40N3awjg", "version=1", "cluster.id=b3R0bGEtZml4dHVyZS0wMQ"} {
		if !bytes.Contains(meta, []byte(want)) {
			t.Errorf("meta.properties lost %s", want)
		}
	}
}
