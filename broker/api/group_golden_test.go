package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/groupcoord"
	"github.com/ottla/ottla/groupcoord/coordtest"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

// The transcripts in testdata/groups were recorded from Apache Kafka 4.4: the same requests, its answers, and the
// records it wrote. To record again, start a node with
//
//	group.initial.rebalance.delay.ms=0 group.min.session.timeout.ms=300 offsets.topic.num.partitions=4
//
// and run the tests with OTTLA_RECORD_FROM=host:port; for the tests with limits, another one that has
//
//	group.initial.rebalance.delay.ms=1000 group.max.size=3 offsets.retention.minutes=1 offsets.retention.check.interval.ms=10000
//
// instead of the first, as OTTLA_RECORD_LIMITS_FROM.

// session runs one scenario against a server and writes down what was said.
type session struct {
	t      *testing.T
	server server
	tag    string // makes names unique on a server that is kept
	out    strings.Builder
	names  map[string]string // what the server made up, and what it is called here
}

// server is Apache Kafka, or our handlers in this process.
type server interface {
	do(conn string, req kmsg.Request) (kmsg.Response, error)
	// records are what the offsets topic has for a group.
	records(group string) []record.Record
}

func (s *session) name(short string) string { return short + s.tag }

// call sends a request on a connection and waits for the answer.
func (s *session) call(conn string, version int16, req kmsg.Request) kmsg.Response {
	s.t.Helper()
	return s.start(conn, version, req).wait()
}

// pending is a request whose answer is not there yet.
type pending struct {
	s      *session
	conn   string
	answer chan kmsg.Response
	resp   kmsg.Response
}

func (s *session) start(conn string, version int16, req kmsg.Request) *pending {
	s.t.Helper()
	req.SetVersion(version)
	s.logf("%s > %s v%d %s", conn, kmsg.NameForKey(req.Key()), version, s.show(req))
	p := &pending{s: s, conn: conn, answer: make(chan kmsg.Response, 1)}
	go func() {
		resp, err := s.server.do(conn, req)
		if err != nil {
			s.t.Errorf("%s v%d: %v", kmsg.NameForKey(req.Key()), version, err)
		}
		p.answer <- resp
	}()
	return p
}

func (p *pending) wait() kmsg.Response {
	p.s.t.Helper()
	if p.resp != nil {
		return p.resp
	}
	select {
	case p.resp = <-p.answer:
	case <-time.After(20 * time.Second):
		p.s.t.Fatalf("%s: no answer\n%s", p.conn, p.s.out.String())
	}
	if p.resp == nil {
		p.s.t.FailNow()
	}
	if j, ok := p.resp.(*kmsg.JoinGroupResponse); ok && j.MemberID != "" {
		p.s.learn(j.MemberID, "<"+p.conn)
	}
	p.s.logf("%s < %s", p.conn, p.s.show(p.resp))
	return p.resp
}

// learn gives an id that the server made up a name of our own.
func (s *session) learn(id, as string) {
	if s.names[id] != "" {
		return
	}
	n := 1
	for _, used := range s.names {
		if strings.HasPrefix(used, as+"#") {
			n++
		}
	}
	s.names[id] = fmt.Sprintf("%s#%d>", as, n)
}

// silent says that a request is still waiting.
func (p *pending) silent() {
	p.s.t.Helper()
	time.Sleep(50 * time.Millisecond)
	if len(p.answer) > 0 {
		p.s.logf("%s answered", p.conn)
		return
	}
	p.s.logf("%s waits", p.conn)
}

func (s *session) logf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for id, name := range s.names {
		text = strings.ReplaceAll(text, id, name)
	}
	s.out.WriteString(strings.ReplaceAll(text, s.tag, "") + "\n")
}

// note writes a heading.
func (s *session) note(text string) { s.logf("\n# %s", text) }

// dump writes down what the offsets topic has for a group.
func (s *session) dump(group string) {
	s.logf("\n# records of %s", group)
	for _, r := range s.server.records(group) {
		s.logf("%s", s.showRecord(r))
	}
}

func (s *session) showRecord(r record.Record) string {
	switch binary.BigEndian.Uint16(r.Key) {
	case 0, 1:
		var k kmsg.OffsetCommitKey
		must(s.t, k.ReadFrom(r.Key))
		if r.Value == nil {
			return s.show(&k) + " = null"
		}
		v := kmsg.NewOffsetCommitValue()
		must(s.t, v.ReadFrom(r.Value))
		if v.ExpireTimestamp > 0 {
			v.ExpireTimestamp -= v.CommitTimestamp
		}
		v.CommitTimestamp = 0
		return fmt.Sprintf("v%d %s = v%d %s", k.Version, s.show(&k), v.Version, s.show(&v))
	case 2:
		var k kmsg.GroupMetadataKey
		must(s.t, k.ReadFrom(r.Key))
		if r.Value == nil {
			return s.show(&k) + " = null"
		}
		v := kmsg.NewGroupMetadataValue()
		must(s.t, v.ReadFrom(r.Value))
		if v.CurrentStateTimestamp > 0 {
			v.CurrentStateTimestamp = 1
		}
		return fmt.Sprintf("v%d %s = v%d %s", k.Version, s.show(&k), v.Version, s.show(&v))
	}
	return fmt.Sprintf("key % x", r.Key)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var uuidText = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// show prints a message without what differs between runs and without zero values.
func (s *session) show(v any) string {
	var b bytes.Buffer
	s.write(&b, reflect.ValueOf(v).Elem(), "")
	return uuidText.ReplaceAllString(b.String(), "UUID")
}

var skipped = map[string]bool{
	"Version": true, "ThrottleMillis": true, "UnknownTags": true, "Host": true, "Port": true, "ClientHost": true, "ErrorMessage": true,
}

func (s *session) write(b *bytes.Buffer, v reflect.Value, field string) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		b.WriteString("null")
	case v.Kind() == reflect.Pointer:
		s.write(b, v.Elem(), field)
	case v.Kind() == reflect.Struct:
		b.WriteString("{")
		first := true
		for i := range v.NumField() {
			f := v.Type().Field(i)
			zero := v.Field(i).IsZero() && v.Field(i).Kind() != reflect.Pointer && f.Name != "ErrorCode"
			if skipped[f.Name] || zero {
				continue
			}
			if !first {
				b.WriteString(" ")
			}
			first = false
			b.WriteString(f.Name + ":")
			s.write(b, v.Field(i), f.Name)
		}
		b.WriteString("}")
	case v.Type() == reflect.TypeFor[[]byte]():
		fmt.Fprintf(b, "%q", v.Bytes())
	case v.Type() == reflect.TypeFor[[16]byte]():
		b.WriteString(s.topicName(v.Interface().([16]byte)))
	case v.Kind() == reflect.Slice:
		s.writeList(b, v, field)
	case v.Kind() == reflect.String:
		text := v.String()
		if name, ok := s.names[text]; ok {
			text = name
		}
		fmt.Fprintf(b, "%q", text)
	default:
		fmt.Fprint(b, v.Interface())
	}
}

// unordered lists come in the order of a hash table from Kafka.
var unordered = []reflect.Type{
	reflect.TypeFor[[]kmsg.JoinGroupResponseMember](), reflect.TypeFor[[]kmsg.DescribeGroupsResponseGroupMember](),
	reflect.TypeFor[[]kmsg.ListGroupsResponseGroup](), reflect.TypeFor[[]kmsg.DeleteGroupsResponseGroup](),
	reflect.TypeFor[[]kmsg.GroupMetadataValueMember](), reflect.TypeFor[[]kmsg.DescribeGroupsResponseGroup](),
}

func (s *session) writeList(b *bytes.Buffer, v reflect.Value, field string) {
	var items []string
	for i := range v.Len() {
		var item bytes.Buffer
		s.write(&item, v.Index(i), field)
		items = append(items, item.String())
	}
	if slices.Contains(unordered, v.Type()) {
		slices.Sort(items)
	}
	b.WriteString("[" + strings.Join(items, " ") + "]")
}

func (s *session) topicName(id [16]byte) string {
	if id == [16]byte{} {
		return "none"
	}
	if n, ok := s.names[string(id[:])]; ok {
		return n
	}
	return fmt.Sprintf("%x", id)
}

// golden runs a scenario against our handlers and compares with what Kafka said; with OTTLA_RECORD_FROM it asks Kafka.
func golden(t *testing.T, name string, scenario func(s *session)) {
	goldenWith(t, name, goldenConfig(), "OTTLA_RECORD_FROM", scenario)
}

func goldenConfig() groupcoord.Config {
	return groupcoord.Config{
		Classic:           classic.Config{SessionMin: 300 * time.Millisecond, SessionMax: 30 * time.Minute, MaxSize: 1 << 30},
		OffsetsPartitions: 4, OffsetsRetention: 7 * 24 * time.Hour, RetentionCheckInterval: 10 * time.Minute,
		MetadataMax: 4096, CommitTimeout: 5 * time.Second, LoadBuffer: 1 << 20,
	}
}

func goldenWith(t *testing.T, name string, c groupcoord.Config, from string, scenario func(s *session)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		path := filepath.Join("testdata", "groups", name+".txt")
		if addr := os.Getenv(from); addr != "" {
			k := newKafka(t, addr)
			s := newSession(t, k, fmt.Sprintf("-%011x", time.Now().UnixNano()&(1<<44-1)))
			k.prepare(s)
			scenario(s)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, []byte(s.out.String()), 0o644))
		}
		want, err := os.ReadFile(path)
		must(t, err)
		synctest.Test(t, func(t *testing.T) {
			own := newOwn(t, c)
			s := newSession(t, own, "-00000000own") // as long as the tag at Kafka
			s.names[string(goldenTopicID[:])] = "id(t)"
			own.create(s.name("t"), 2)
			scenario(s)
			if got := s.out.String(); got != string(want) {
				t.Errorf("differs from Kafka (- Kafka, + here):\n%s", diff(string(want), got))
			}
		})
	})
}

func newSession(t *testing.T, to server, tag string) *session {
	return &session{t: t, server: to, tag: tag, names: map[string]string{}}
}

// diff shows the lines that differ, with the headings for orientation.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	common := make([][]int, len(w)+1) // longest common tails
	for i := range common {
		common[i] = make([]int, len(g)+1)
	}
	for i := len(w) - 1; i >= 0; i-- {
		for j := len(g) - 1; j >= 0; j-- {
			if w[i] == g[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var b strings.Builder
	last := ""
	for i, j := 0, 0; i < len(w) || j < len(g); {
		switch {
		case i < len(w) && j < len(g) && w[i] == g[j]:
			if last = w[i]; strings.HasPrefix(last, "#") {
				b.WriteString(last + "\n")
			}
			i, j = i+1, j+1
		case j == len(g) || i < len(w) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintf(&b, "   %s\n%d - %s\n", last, i+1, w[i])
			i++
		default:
			fmt.Fprintf(&b, "%d + %s\n", j+1, g[j])
			j++
		}
	}
	return b.String()
}

var goldenTopicID = protocol.UUID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// own is our handlers over an offsets topic in memory.
type own struct {
	image  *metadata.Image
	groups *groupcoord.Service
	table  map[int16]Row
	logs   [4]*coordtest.Log
}

func newOwn(t *testing.T, c groupcoord.Config) *own {
	o := &own{}
	for i := range o.logs {
		o.logs[i] = coordtest.NewLog(0)
	}
	o.groups = groupcoord.New(groupcoord.Options{
		Config:     func() groupcoord.Config { return c },
		Partitions: func() int32 { return int32(len(o.logs)) },
		Log:        func(p int32) (groupcoord.Log, error) { return o.logs[p], nil },
		Logger:     zap.NewNop(),
	})
	t.Cleanup(o.groups.Close)
	d := metadata.NewDelta(metadata.New())
	b := msg.NewRegisterBrokerRecord()
	b.BrokerID, b.Fenced = 1, false
	b.EndPoints = []msg.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "localhost", Port: 9092}}
	must(t, d.Replay(b))
	o.apply(t, d)
	o.create(protocol.ConsumerOffsetsTopic, int32(len(o.logs)))
	for i := range o.logs {
		o.groups.OnElection(int32(i), 0)
	}
	synctest.Wait() // until they have read their partitions
	o.table = map[int16]Row{}
	for _, r := range Table(&Deps{
		NodeID: 1, ClusterID: "c", Log: zap.NewNop(), Metadata: func() *metadata.Image { return o.image },
		Config: func() config.Layers { return config.Layers{} }, Groups: o.groups,
	}) {
		o.table[r.Key] = r
	}
	return o
}

func (o *own) apply(t *testing.T, d *metadata.Delta) {
	image, err := d.Apply(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	o.image = image
}

func (o *own) create(name string, partitions int32) {
	d := metadata.NewDelta(o.image)
	topic := msg.NewTopicRecord()
	topic.Name, topic.TopicID = name, goldenTopicID
	if name == protocol.ConsumerOffsetsTopic {
		topic.TopicID[0]++
	}
	d.Replay(topic)
	for p := range partitions {
		r := msg.NewPartitionRecord()
		r.PartitionID, r.TopicID, r.Replicas, r.ISR, r.Leader = p, topic.TopicID, []int32{1}, []int32{1}, 1
		r.LeaderEpoch, r.PartitionEpoch, r.Directories = 0, 0, []protocol.UUID{{9}}
		d.Replay(r)
	}
	image, err := d.Apply(2, 1, 1)
	if err != nil {
		panic(err)
	}
	o.image = image
}

func (o *own) do(conn string, req kmsg.Request) (kmsg.Response, error) {
	client := "client-" + conn
	c := &Call{
		Header: protocol.RequestHeader{Key: req.Key(), Version: req.GetVersion(), ClientID: &client},
		Conn: &Conn{Listener: "PLAINTEXT", Scope: protocol.ScopeBroker, Principal: Anonymous,
			Remote: netip.MustParseAddrPort("127.0.0.1:1"), Local: netip.MustParseAddrPort("127.0.0.1:2")},
		Received: time.Now(),
	}
	// Over the wire and back, so that each version has its own fields only.
	body := req.AppendTo(nil)
	in := kmsg.RequestForKey(req.Key())
	if err := protocol.DecodeBody(c.Header, body, in); err != nil {
		return nil, err
	}
	reply, err := o.table[req.Key()].Handle(context.Background(), c, in)
	if err != nil {
		return nil, err
	}
	out := req.ResponseKind()
	if reply.Body().GetVersion() != req.GetVersion() {
		return nil, fmt.Errorf("answer has version %d", reply.Body().GetVersion())
	}
	return out, out.ReadFrom(reply.Body().AppendTo(nil))
}

func (o *own) records(group string) []record.Record {
	var out []record.Record
	for _, r := range o.logs[o.groups.PartitionFor(group)].Records(context.Background()) {
		if bytes.Contains(r.Key, []byte(group)) {
			out = append(out, r)
		}
	}
	return out
}

// kafka is Apache Kafka over the wire.
type kafka struct {
	t     *testing.T
	addr  string
	conns map[string]net.Conn
	lock  chan struct{}
}

func newKafka(t *testing.T, addr string) *kafka {
	k := &kafka{t: t, addr: addr, conns: map[string]net.Conn{}, lock: make(chan struct{}, 1)}
	t.Cleanup(func() {
		for _, c := range k.conns {
			c.Close()
		}
	})
	return k
}

// prepare creates the topic t and waits for the coordinators.
func (k *kafka) prepare(s *session) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(7)
	req.TimeoutMillis = 10000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = s.name("t"), 2, 1
	req.Topics = append(req.Topics, t)
	resp, err := k.do("admin", req)
	must(s.t, err)
	id := resp.(*kmsg.CreateTopicsResponse).Topics[0].TopicID
	s.names[string(id[:])] = "id(t)"
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		f := kmsg.NewPtrFindCoordinatorRequest()
		f.SetVersion(4)
		for i := range 40 {
			f.CoordinatorKeys = append(f.CoordinatorKeys, fmt.Sprint(i))
		}
		resp, err := k.do("admin", f)
		must(s.t, err)
		if !slices.ContainsFunc(resp.(*kmsg.FindCoordinatorResponse).Coordinators, func(c kmsg.FindCoordinatorResponseCoordinator) bool {
			return c.ErrorCode != 0
		}) {
			time.Sleep(500 * time.Millisecond)
			return
		}
	}
	s.t.Fatal("no coordinators")
}

func (k *kafka) do(conn string, req kmsg.Request) (kmsg.Response, error) {
	k.lock <- struct{}{}
	c := k.conns[conn]
	if c == nil {
		var err error
		if c, err = net.Dial("tcp", k.addr); err != nil {
			<-k.lock
			return nil, err
		}
		k.conns[conn] = c
	}
	<-k.lock
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("client-" + conn))
	if _, err := c.Write(f.AppendRequest(nil, req, 1)); err != nil {
		return nil, err
	}
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	b = b[4:]
	if resp.IsFlexible() {
		b = b[1:]
	}
	return resp, resp.ReadFrom(b)
}

func (k *kafka) records(group string) []record.Record {
	var out []record.Record
	for p := range int32(4) {
		req := kmsg.NewPtrFetchRequest()
		req.SetVersion(12)
		req.ReplicaID, req.MaxBytes, req.SessionEpoch = -1, 100<<20, -1
		t := kmsg.NewFetchRequestTopic()
		t.Topic = protocol.ConsumerOffsetsTopic
		fp := kmsg.NewFetchRequestTopicPartition()
		fp.Partition, fp.PartitionMaxBytes, fp.CurrentLeaderEpoch, fp.LastFetchedEpoch, fp.LogStartOffset = p, 100<<20, -1, -1, -1
		t.Partitions = append(t.Partitions, fp)
		req.Topics = append(req.Topics, t)
		resp, err := k.do("admin", req)
		must(k.t, err)
		buf := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
		for len(buf) > 0 {
			var b record.Batch
			b, buf, err = record.Next(buf)
			must(k.t, err)
			for r, err := range b.Records(record.MaxDecompressed) {
				must(k.t, err)
				if bytes.Contains(r.Key, []byte(group)) {
					out = append(out, r)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b record.Record) int { return cmp.Compare(a.Offset, b.Offset) })
	return out
}
