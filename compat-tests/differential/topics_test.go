//go:build compat

package differential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func createRequest(validate bool, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis, req.ValidateOnly, req.Topics = 10000, validate, topics
	return req
}

// assigned adds a replica assignment: partition, replica, partition, replica...
func assigned(t kmsg.CreateTopicsRequestTopic, parts ...int32) kmsg.CreateTopicsRequestTopic {
	for i := 0; i+1 < len(parts); i += 2 {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition = parts[i]
		if parts[i+1] >= 0 {
			a.Replicas = []int32{parts[i+1]}
		}
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

func TestCreateTopics(t *testing.T) {
	both(t, func(s *side) {
		existing := s.n("ct-existing")
		s.newTopic(existing, 1)
		s.newTopic(strings.ReplaceAll(s.n("ct"), ".", "_"), 1)
		send := func(label string, v int16, validate bool, topics ...kmsg.CreateTopicsRequestTopic) {
			r := do[*kmsg.CreateTopicsResponse](s, label, v, createRequest(validate, topics...))
			if r == nil || validate {
				return
			}
			for _, x := range r.Topics {
				if x.ErrorCode == 0 && v >= 7 {
					s.marks.set(fmt.Sprintf("%x", x.TopicID), "id of "+x.Topic)
				}
			}
		}
		s.each(19, func(v int16) {
			for _, validate := range []bool{true, false} {
				kind := map[bool]string{true: "validate", false: "real"}[validate]
				n := func(x string) string { return s.n(fmt.Sprintf("ct-%s-%s-%d", x, kind, v)) }
				l := func(x string) string { return kind + " " + x }
				send(l("nothing"), v, validate)
				send(l("existing"), v, validate, topicSpec(existing, 1, 1))
				send(l("plain"), v, validate, topicSpec(n("plain"), 3, 1))
				send(l("defaults"), v, validate, topicSpec(n("defaults"), -1, -1))
				send(l("counts"), v, validate, topicSpec(n("p0"), 0, 1), topicSpec(n("p-2"), -2, 1), topicSpec(n("p-5"), -5, 1),
					topicSpec(n("rf0"), 1, 0), topicSpec(n("rf-2"), 1, -2), topicSpec(n("rf2"), 1, 2), topicSpec(n("rf32767"), 1, 32767))
				send(l("too many partitions"), v, validate, topicSpec(n("many"), 10001, 1))
				send(l("too many partitions together"), v, validate, topicSpec(n("many1"), 6000, 1), topicSpec(n("many2"), 6000, 1))
				send(l("most partitions there are"), v, validate, topicSpec(n("max"), 2147483647, 1))
				for i, bad := range []string{"", ".", "..", "a b", "ä", strings.Repeat("x", 250), "a/b", "a:b", "a\x00b", "a*"} {
					send(l(fmt.Sprintf("name %d", i)), v, validate, topicSpec(bad, 1, 1))
				}
				send(l("collision"), v, validate, topicSpec(s.n("ct"), 1, 1))
				send(l("collision in the request"), v, validate, topicSpec(n("a_b"), 1, 1), topicSpec(n("a.b"), 1, 1))
				send(l("a name twice"), v, validate, topicSpec(n("twice"), 1, 1), topicSpec(n("twice"), 2, 1), topicSpec(n("once"), 1, 1))
				send(l("a bad name twice"), v, validate, topicSpec("a b", 1, 1), topicSpec("a b", 2, 1))
				send(l("internal"), v, true, topicSpec("__consumer_offsets", 1, 1), topicSpec("__transaction_state", 1, 1), topicSpec("__cluster_metadata", 1, 1))
				ass := func(x string, partitions int32, rf int16, parts ...int32) kmsg.CreateTopicsRequestTopic {
					return assigned(topicSpec(n(x), partitions, rf), parts...)
				}
				send(l("assignments"), v, validate, ass("as1", -1, -1, 0, 1), ass("as2", -1, -1, 0, 1, 1, 1, 2, 1), ass("as3", 1, -1, 0, 1),
					ass("as4", -1, 1, 0, 1), ass("as5", -1, -1, 1, 1), ass("as6", -1, -1, 0, 9), ass("as7", -1, -1, 0, -1), ass("as8", -1, -1, 0, 1, 0, 1),
					ass("as9", -1, -1, 0, 1, 2, 1), ass("as10", -1, -1, -1, 1), ass("as11", 3, 3, 0, 1))
				dup := ass("as12", -1, -1, 0, 1)
				dup.ReplicaAssignment[0].Replicas = []int32{1, 1}
				send(l("a replica twice"), v, validate, dup)
				neg := ass("as13", -1, -1, 0, 1)
				neg.ReplicaAssignment[0].Replicas = []int32{-1}
				send(l("a negative replica"), v, validate, neg)
				send(l("mixed"), v, validate, topicSpec(n("good"), 2, 1), topicSpec(existing, 1, 1), topicSpec("bad name", 1, 1), topicSpec(n("rf3"), 1, 3))
			}
		})
	})
}

func TestCreateTopicConfigs(t *testing.T) {
	both(t, func(s *side) {
		cases := [][]string{
			{"no.such", "1"}, {"", "1"}, {"preallocate", "yes_this"}, {"preallocate", "TRUE"}, {"preallocate", " true "}, {"compression.type", "foo"},
			{"compression.type", "ZSTD"}, {"compression.type", "uncompressed"}, {"cleanup.policy", "foo"}, {"cleanup.policy", ""}, {"cleanup.policy", "compact,compact"},
			{"cleanup.policy", "compact, delete"}, {"cleanup.policy", "delete,compact"}, {"cleanup.policy", "Delete"}, {"retention.ms", "-2"}, {"retention.ms", "-1"},
			{"retention.ms", "9223372036854775807"}, {"retention.ms", "9223372036854775808"}, {"retention.ms", " 5 "}, {"retention.ms", "+5"}, {"retention.ms", "5.0"}, {"retention.ms", ""},
			{"retention.ms", null}, {"retention.bytes", "-5"}, {"retention.bytes", "0"}, {"segment.bytes", "1"}, {"segment.bytes", "1048576"}, {"segment.bytes", "1048575"},
			{"segment.bytes", "2147483647"}, {"segment.bytes", "2147483648"}, {"segment.ms", "0"}, {"segment.ms", "1"}, {"segment.jitter.ms", "-1"}, {"segment.index.bytes", "3"},
			{"segment.index.bytes", "4"}, {"message.format.version", "2.8"}, {"message.timestamp.difference.max.ms", "1000"}, {"message.timestamp.type", "CreateTime"},
			{"message.timestamp.type", "createtime"}, {"message.timestamp.type", "x"}, {"message.timestamp.before.max.ms", "-1"}, {"message.timestamp.before.max.ms", "0"},
			{"message.timestamp.after.max.ms", "0"}, {"flush.messages", "0"}, {"flush.messages", "1"}, {"flush.ms", "-1"}, {"flush.ms", "0"}, {"min.insync.replicas", "0"}, {"min.insync.replicas", "5"},
			{"min.cleanable.dirty.ratio", "1.1"}, {"min.cleanable.dirty.ratio", "-0.1"}, {"min.cleanable.dirty.ratio", "0.5"}, {"min.cleanable.dirty.ratio", "1e-1"}, {"min.cleanable.dirty.ratio", "NaN"},
			{"max.message.bytes", "-1"}, {"max.message.bytes", "0"}, {"index.interval.bytes", "-1"}, {"delete.retention.ms", "-1"}, {"file.delete.delay.ms", "-1"}, {"file.delete.delay.ms", "0"},
			{"min.compaction.lag.ms", "10", "max.compaction.lag.ms", "5"}, {"max.compaction.lag.ms", "0"}, {"max.compaction.lag.ms", "1"}, {"min.compaction.lag.ms", "-1"},
			{"unclean.leader.election.enable", "true"}, {"remote.storage.enable", "true"}, {"remote.storage.enable", "false"}, {"remote.log.delete.on.disable", "true"}, {"remote.log.copy.disable", "true"},
			{"local.retention.ms", "-2"}, {"local.retention.ms", "-3"}, {"local.retention.bytes", "5"}, {"local.retention.bytes", "-3"}, {"local.retention.ms", "100", "retention.ms", "50"},
			{"local.retention.bytes", "100", "retention.bytes", "50"},
			{"compression.gzip.level", "0"}, {"compression.gzip.level", "-1"}, {"compression.gzip.level", "9"}, {"compression.gzip.level", "10"}, {"compression.lz4.level", "0"}, {"compression.lz4.level", "17"},
			{"compression.lz4.level", "18"}, {"compression.zstd.level", "-131072"}, {"compression.zstd.level", "22"}, {"compression.zstd.level", "23"}, {"leader.replication.throttled.replicas", "*"},
			{"leader.replication.throttled.replicas", "0:1,1:1"}, {"leader.replication.throttled.replicas", "x"}, {"follower.replication.throttled.replicas", ""}, {"internal.segment.bytes", "100"},
			{"retention.ms", "5", "retention.ms", "6"}, {"retention.ms", "5", "no.such", "1"}, {"log.retention.ms", "5"}, {"errors.deadletterqueue.group.enable", "true"}, {"internal.x", "1"},
			{"segment.bytes", "1048576", "cleanup.policy", "compact", "retention.ms", "1"},
		}
		for _, v := range []int16{2, 5, 7} {
			for i, c := range cases {
				req := createRequest(true, topicSpec(s.n("ctc"), 1, 1, c...))
				do[*kmsg.CreateTopicsResponse](s, fmt.Sprintf("%d %q", i, c), v, req)
			}
		}
		name := s.n("ctc-real")
		s.newTopic(name, 1, "retention.ms", " 5000 ", "cleanup.policy", "compact, delete", "compression.type", "zstd", "preallocate", "TRUE", "min.cleanable.dirty.ratio", "5e-1")
		do[*kmsg.DescribeConfigsResponse](s, "as written", 4, describe(true, false, resource{2, name, nil}))
	})
}

func deleteRequest(v int16, topics ...any) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 10000
	for _, x := range topics {
		rt := kmsg.NewDeleteTopicsRequestTopic()
		switch x := x.(type) {
		case string:
			rt.Topic = ptr(x)
			req.TopicNames = append(req.TopicNames, x)
		case [16]byte:
			rt.TopicID = x
		case kmsg.DeleteTopicsRequestTopic:
			rt = x
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func TestDeleteTopics(t *testing.T) {
	both(t, func(s *side) {
		s.each(20, func(v int16) {
			n := func(x string) string { return s.n(fmt.Sprintf("dt-%s-%d", x, v)) }
			for _, x := range []string{"a", "b", "c", "e"} {
				s.newTopic(n(x), 1)
			}
			id := s.newTopic(n("d"), 2)
			send := func(label string, topics ...any) {
				do[*kmsg.DeleteTopicsResponse](s, label, v, deleteRequest(v, topics...))
			}
			send("nothing")
			send("unknown", n("missing"))
			send("bad names", "", "a b", ".")
			send("one", n("a"))
			s.awaitGone(n("a"))
			send("again", n("a"))
			send("a name twice", n("b"), n("b"))
			send("unknown twice", n("missing"), n("missing"))
			send("mixed", n("c"), n("missing2"))
			s.awaitGone(n("c"))
			if v < 6 {
				return
			}
			send("unknown id", [16]byte{5, 5})
			send("zero id", [16]byte{})
			send("by id twice", id, id)
			both := kmsg.NewDeleteTopicsRequestTopic()
			both.Topic, both.TopicID = ptr(n("d")), id
			send("name and id", both)
			send("name and its id", n("d"), id)
			both.Topic, both.TopicID = ptr(n("e")), [16]byte{5, 5}
			send("name and a foreign id", both)
			send("by id", id)
			s.awaitGone(n("d"))
			send("by id again", id)
			send("by id, name, unknown", n("e"), [16]byte{5, 6}, n("nope"))
			s.awaitGone(n("e"))
		})
	})
}

func partitionsRequest(validate bool, topics ...kmsg.CreatePartitionsRequestTopic) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis, req.ValidateOnly, req.Topics = 10000, validate, topics
	return req
}

// grow asks for a number of partitions; assignment nil = none, else the replicas of each new partition.
func grow(name string, count int32, assignment ...[]int32) kmsg.CreatePartitionsRequestTopic {
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, count
	for _, a := range assignment {
		x := kmsg.NewCreatePartitionsRequestTopicAssignment()
		x.Replicas = a
		t.Assignment = append(t.Assignment, x)
	}
	return t
}

func TestCreatePartitions(t *testing.T) {
	both(t, func(s *side) {
		s.each(37, func(v int16) {
			a, b := s.n(fmt.Sprintf("cp-a-%d", v)), s.n(fmt.Sprintf("cp-b-%d", v))
			s.newTopic(a, 2)
			s.newTopic(b, 1)
			send := func(label string, validate bool, topics ...kmsg.CreatePartitionsRequestTopic) {
				do[*kmsg.CreatePartitionsResponse](s, label, v, partitionsRequest(validate, topics...))
			}
			for _, validate := range []bool{true, false} {
				l := func(x string) string { return fmt.Sprintf("%s (validate %v)", x, validate) }
				send(l("nothing"), validate)
				send(l("unknown"), validate, grow(s.n("cp-missing"), 3), grow("", 3), grow("a b", 3))
				send(l("the same"), validate, grow(a, 2))
				for _, n := range []int32{1, 0, -1, -5, 10001, 2147483647} {
					if n > 10000 && !validate {
						continue // both do it, or try
					}
					send(l(fmt.Sprint("count ", n)), validate, grow(a, n))
				}
				send(l("twice"), validate, grow(a, 3), grow(a, 4), grow(b, 1))
				send(l("three times"), validate, grow(a, 3), grow(a, 4), grow(a, 3))
				empty := grow(a, 3)
				empty.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
				send(l("empty assignment"), true, empty)
				for i, x := range [][][]int32{{{9}}, {{1}, {1}}, {{}}, {{1, 1}}, {{-1}}, {{1, 9}}} {
					send(l(fmt.Sprint("assignment ", i)), validate, grow(a, 3, x...))
				}
				send(l("assignment too short"), validate, grow(a, 4, []int32{1}))
			}
			send("with an assignment", false, grow(a, 3, []int32{1}))
			s.awaitTopic(a, 3)
			send("mixed", false, grow(b, 4), grow(a, 1))
			s.awaitTopic(b, 4)
		})
		s.newTopic(s.n("cp-zz"), 1)
		do[*kmsg.CreatePartitionsResponse](s, "internal topic", 3, partitionsRequest(true, grow("__consumer_offsets", 51)))
	})
}

func TestDeleteRecords(t *testing.T) {
	both(t, func(s *side) {
		request := func(parts ...any) *kmsg.DeleteRecordsRequest {
			req := kmsg.NewPtrDeleteRecordsRequest()
			req.TimeoutMillis = 10000
			for i := 0; i+2 < len(parts); i += 3 {
				rt := kmsg.NewDeleteRecordsRequestTopic()
				rt.Topic = parts[i].(string)
				if n := len(req.Topics); n > 0 && req.Topics[n-1].Topic == rt.Topic {
					rt, req.Topics = req.Topics[n-1], req.Topics[:n-1]
				}
				rt.Partitions = append(rt.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: int32(parts[i+1].(int)), Offset: int64(parts[i+2].(int))})
				req.Topics = append(req.Topics, rt)
			}
			return req
		}
		s.each(21, func(v int16) {
			a, c, cd := s.n(fmt.Sprintf("dr-a-%d", v)), s.n(fmt.Sprintf("dr-c-%d", v)), s.n(fmt.Sprintf("dr-cd-%d", v))
			s.newTopic(a, 3)
			s.newTopic(c, 1, "cleanup.policy", "compact")
			s.newTopic(cd, 1, "cleanup.policy", "compact,delete")
			for p := range int32(2) {
				s.fill(a, p, values("a", "b"), values("c", "d"), values("e"))
			}
			send := func(label string, parts ...any) {
				do[*kmsg.DeleteRecordsResponse](s, label, v, request(parts...))
			}
			send("nothing")
			send("to 3", a, 0, 3)
			send("again", a, 0, 3)
			send("lower", a, 0, 1)
			send("beyond the end", a, 0, 6)
			for _, o := range []int{-2, -3, -5, 2147483647} {
				send(fmt.Sprint("to ", o), a, 0, o)
			}
			send("zero", a, 1, 0)
			send("to the end", a, 0, 5)
			send("all of it", a, 1, -1)
			send("empty partition", a, 2, -1)
			send("same partition twice", a, 2, 0, a, 2, 1)
			send("unknown partition", a, 3, 0, a, -1, 0)
			send("unknown topic, compacted ones", s.n("dr-missing"), 0, 0, c, 0, 0, cd, 0, 0)
			send("bad name", "a b", 0, 0, "", 0, 0)
			send("mixed", a, 0, 99, a, 1, -1, "a b", 0, 0)
			zero := request(a, 0, -1)
			zero.TimeoutMillis = 0
			do[*kmsg.DeleteRecordsResponse](s, "no time", v, zero)
			zero.TimeoutMillis = -5
			do[*kmsg.DeleteRecordsResponse](s, "negative time", v, zero)
			for _, ts := range []int64{-2, -1, 0} {
				do[*kmsg.ListOffsetsResponse](s, fmt.Sprintf("offset at %d after v%d", ts, v), 7, listOffsets(0, a, listPart{0, -1, ts}, listPart{1, -1, ts}, listPart{2, -1, ts}))
			}
		})
		internal := request("__consumer_offsets", 0, 0)
		do[*kmsg.DeleteRecordsResponse](s, "internal", 2, internal)
	})
}
