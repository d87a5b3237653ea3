//go:build compat

package differential

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestMetadata(t *testing.T) {
	alone(t, func(s *side) {
		a, b := s.n("meta-a"), s.n("meta-b")
		ida := s.newTopic(a, 3)
		s.newTopic(b, 1)
		s.each(3, func(v int16) {
			do[*kmsg.MetadataResponse](s, "two topics", v, metadataRequest(a, b))
			do[*kmsg.MetadataResponse](s, "same twice", v, metadataRequest(a, a))
			do[*kmsg.MetadataResponse](s, "all or none", v, metadataRequest())
			if v > 0 {
				all := metadataRequest()
				all.Topics = nil
				do[*kmsg.MetadataResponse](s, "all topics", v, all)
			}
			bad := metadataRequest(a, "bad name", "", ".", "..", s.n("meta-missing")+fmt.Sprint(v))
			bad.AllowAutoTopicCreation = false
			if v >= 4 {
				do[*kmsg.MetadataResponse](s, "bad names", v, bad)
			}
			ops := metadataRequest(a)
			ops.IncludeTopicAuthorizedOperations, ops.IncludeClusterAuthorizedOperations = true, true
			do[*kmsg.MetadataResponse](s, "operations", v, ops)
			if v < 10 {
				return
			}
			ids := metadataRequest()
			for _, id := range [][16]byte{ida, {1, 2, 3}, {}} {
				rt := kmsg.NewMetadataRequestTopic()
				rt.TopicID = id
				ids.Topics = append(ids.Topics, rt)
			}
			do[*kmsg.MetadataResponse](s, "by id", v, ids)
			s.shared()
			ids.Topics = ids.Topics[:2]
			do[*kmsg.MetadataResponse](s, "by id without the zero one", v, ids)
			mixed := metadataRequest(a)
			mixed.Topics[0].TopicID = ida
			do[*kmsg.MetadataResponse](s, "name and id", v, mixed)
			mixed.Topics[0].TopicID = [16]byte{9}
			do[*kmsg.MetadataResponse](s, "name and foreign id", v, mixed)
			nobody := metadataRequest(a)
			nobody.Topics[0].Topic = nil
			do[*kmsg.MetadataResponse](s, "neither name nor id", v, nobody)
			half := metadataRequest(a, b)
			half.Topics[1].Topic, half.Topics[1].TopicID = nil, ida
			do[*kmsg.MetadataResponse](s, "one by name, one by id", v, half)
		})
	})
}

func TestAutoCreation(t *testing.T) {
	both(t, func(s *side) {
		s.each(3, func(v int16) {
			if v >= 4 {
				do[*kmsg.MetadataResponse](s, "not allowed", v, metadataRequest(s.n(fmt.Sprintf("auto-no-%d", v))))
			}
			name := s.n(fmt.Sprintf("auto-%d", v))
			req := metadataRequest(name, "bad name")
			req.AllowAutoTopicCreation = true
			do[*kmsg.MetadataResponse](s, "allowed", v, req)
			s.awaitTopic(name, 1)
			do[*kmsg.MetadataResponse](s, "afterwards", v, req)
			many := metadataRequest(s.n(fmt.Sprintf("auto.x-%d", v)), s.n(fmt.Sprintf("auto_x-%d", v)))
			many.AllowAutoTopicCreation = true
			do[*kmsg.MetadataResponse](s, "colliding names", v, many)
		})
	})
}

func TestDescribeTopicPartitions(t *testing.T) {
	both(t, func(s *side) {
		a, b, c := s.n("dtp-a"), s.n("dtp-b"), s.n("dtp-c")
		s.newTopic(a, 3)
		s.newTopic(b, 5)
		s.newTopic(c, 1)
		request := func(limit int32, topics ...string) *kmsg.DescribeTopicPartitionsRequest {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = limit
			for _, n := range topics {
				rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
				rt.Topic = n
				req.Topics = append(req.Topics, rt)
			}
			return req
		}
		send := func(label string, req *kmsg.DescribeTopicPartitionsRequest) *kmsg.DescribeTopicPartitionsResponse {
			return do[*kmsg.DescribeTopicPartitionsResponse](s, label, 0, req)
		}
		cursor := func(req *kmsg.DescribeTopicPartitionsRequest, topic string, partition int32) *kmsg.DescribeTopicPartitionsRequest {
			cur := kmsg.NewDescribeTopicPartitionsRequestCursor()
			cur.Topic, cur.Partition = topic, partition
			req.Cursor = &cur
			return req
		}
		missing := s.n("dtp-missing")
		send("all three", request(2000, c, b, a))
		send("twice", request(2000, a, a))
		send("bad names", request(2000, "bad name", "..", missing, a))
		send("an empty name", request(2000, "", a))
		for limit := int32(-2); limit <= 10; limit++ {
			send(fmt.Sprintf("limit %d", limit), request(limit, c, a, missing, b))
		}
		for _, name := range []string{a, b, c, missing, "", "zzz"} {
			for _, p := range []int32{-1, 0, 1, 2, 3, 5, 100} {
				send(fmt.Sprintf("cursor %q %d", name[:min(len(name), 5)], p), cursor(request(3, a, b, c), name, p))
			}
		}
		send("empty list with a limit of 0", cursor(request(0), a, 0))
		send("the cursor's topic not in the list", cursor(request(100, a, c), b, 0))
	})
}

func TestApiVersions(t *testing.T) {
	both(t, func(s *side) {
		request := func(name, version string) *kmsg.ApiVersionsRequest {
			req := kmsg.NewPtrApiVersionsRequest()
			req.ClientSoftwareName, req.ClientSoftwareVersion = name, version
			return req
		}
		s.each(18, func(v int16) {
			do[*kmsg.ApiVersionsResponse](s, "versions", v, request("x.y-1", "1.0"))
			for _, k := range ask[*kmsg.ApiVersionsResponse](s, v, request("a", "1")).ApiKeys {
				if built()[k.ApiKey] {
					s.note(fmt.Sprintf("v%d %s", v, apiName(k.ApiKey)), "window", fmt.Sprint(k.MinVersion, k.MaxVersion))
				}
			}
			if v < 3 {
				return
			}
			for _, bad := range [][2]string{{"", ""}, {"", "1"}, {"a", ""}, {"a b", "1"}, {"-a", "1"}, {"a-", "1"}, {"a", "ä"}, {"A.9-x", "0-0.0"}, {"a_b", "1"}} {
				do[*kmsg.ApiVersionsResponse](s, fmt.Sprintf("software %q %q", bad[0], bad[1]), v, request(bad[0], bad[1]))
			}
		})
		do[*kmsg.ApiVersionsResponse](s, "after them", 0, request("a", "1"))
		v5 := request("a", "1")
		v5.ClusterID, v5.NodeID = ptr("no such cluster"), 7
		do[*kmsg.ApiVersionsResponse](s, "for another cluster", 5, v5)
		v5.ClusterID, v5.NodeID = nil, 7
		do[*kmsg.ApiVersionsResponse](s, "for another node", 5, v5)
		v5.NodeID = 1
		do[*kmsg.ApiVersionsResponse](s, "for this node", 5, v5)
	})
}

// TestUnknown sends what no server serves.
func TestUnknown(t *testing.T) {
	both(t, func(s *side) {
		frame := func(key, version int16, rest ...byte) []byte {
			b := binary.BigEndian.AppendUint16(nil, uint16(key))
			b = binary.BigEndian.AppendUint16(b, uint16(version))
			b = binary.BigEndian.AppendUint32(b, 7)
			b = binary.BigEndian.AppendUint16(b, 0xffff)
			b = append(b, rest...)
			return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
		}
		for _, key := range []int16{-1, 4, 5, 6, 7, 95, 200, 32767, -32768, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82} {
			s.bytes(fmt.Sprintf("key %d", key), frame(key, 0, 0, 0, 0, 0, 0, 0, 0, 0))
		}
		for _, k := range windows() {
			if k.MinVersion > 0 {
				s.bytes(fmt.Sprintf("%s below its window", apiName(k.ApiKey)), frame(k.ApiKey, k.MinVersion-1, 0, 0, 0, 0))
			}
			if k.ApiKey == 18 {
				continue
			}
			s.bytes(fmt.Sprintf("%s above its window", apiName(k.ApiKey)), frame(k.ApiKey, k.MaxVersion+1, 0, 0, 0, 0))
			s.bytes(fmt.Sprintf("%s of a negative version", apiName(k.ApiKey)), frame(k.ApiKey, -1, 0, 0, 0, 0))
			s.bytes(fmt.Sprintf("%s without a body", apiName(k.ApiKey)), frame(k.ApiKey, k.MaxVersion))
		}
		for _, v := range []int16{-1, 6, 127, 32767} {
			s.bytes(fmt.Sprintf("ApiVersions v%d", v), frame(18, v))
		}
		s.bytes("empty frame", []byte{0, 0, 0, 0})
		s.bytes("two bytes", []byte{0, 0, 0, 2, 0, 3})
		s.bytes("a client id longer than the frame", []byte{0, 0, 0, 10, 0, 3, 0, 1, 0, 0, 0, 1, 0, 99})
		s.bytes("a negative client id", []byte{0, 0, 0, 10, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xfe})
	})
}

func TestDescribeCluster(t *testing.T) {
	both(t, func(s *side) {
		s.each(60, func(v int16) {
			for _, endpoint := range []int8{1, 2, 0, 3, -1} {
				for _, ops := range []bool{false, true} {
					for _, fenced := range []bool{false, true} {
						req := kmsg.NewPtrDescribeClusterRequest()
						req.EndpointType, req.IncludeClusterAuthorizedOperations, req.IncludeFencedBrokers = endpoint, ops, fenced
						do[*kmsg.DescribeClusterResponse](s, fmt.Sprintf("endpoint type %d, operations %v, fenced %v", endpoint, ops, fenced), v, req)
					}
				}
			}
		})
	})
}
