package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// coordinatorFormatter writes records of __consumer_offsets as JSON, one object after the other: commits of offsets
// (key types 0 and 1) or classic groups (key type 2). Other records are left out.
type coordinatorFormatter struct{ offsets, groups bool }

// typed is a part of a coordinator's record, in Kafka's order of fields.
type typedKey struct {
	Type int16 `json:"type"`
	Data any   `json:"data"`
}

type versionedValue struct {
	Version int16 `json:"version"`
	Data    any   `json:"data"`
}

func (f coordinatorFormatter) write(w io.Writer, r *kgo.Record) error {
	if len(r.Key) < 2 {
		return nil
	}
	kind := int16(r.Key[0])<<8 | int16(r.Key[1])
	var doc struct {
		Key   typedKey        `json:"key"`
		Value *versionedValue `json:"value"`
	}
	doc.Key.Type = kind
	var err error
	switch {
	case f.offsets && (kind == 0 || kind == 1):
		doc.Key.Data, doc.Value, err = offsetRecord(r)
	case f.groups && kind == 2:
		doc.Key.Data, doc.Value, err = groupRecord(r)
	default:
		return nil
	}
	if err != nil {
		return &javaError{class: "java.lang.RuntimeException",
			msg: fmt.Sprintf("Could not read record at offset %d due to: %s", r.Offset, err), cause: err}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

type offsetKeyJSON struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

type offsetValueJSON struct {
	Offset          int64  `json:"offset"`
	LeaderEpoch     *int32 `json:"leaderEpoch,omitempty"`
	Metadata        string `json:"metadata"`
	CommitTimestamp int64  `json:"commitTimestamp"`
	ExpireTimestamp *int64 `json:"expireTimestamp,omitempty"`
	TopicID         string `json:"topicId,omitempty"`
}

func offsetRecord(r *kgo.Record) (any, *versionedValue, error) {
	key := kmsg.NewOffsetCommitKey()
	if err := key.ReadFrom(r.Key); err != nil {
		return nil, nil, err
	}
	k := offsetKeyJSON{key.Group, key.Topic, key.Partition}
	if r.Value == nil {
		return k, nil, nil
	}
	value := kmsg.NewOffsetCommitValue()
	if err := value.ReadFrom(r.Value); err != nil {
		return nil, nil, err
	}
	v := offsetValueJSON{Offset: value.Offset, Metadata: value.Metadata, CommitTimestamp: value.CommitTimestamp}
	if value.Version >= 3 {
		v.LeaderEpoch = &value.LeaderEpoch
	}
	if value.Version == 1 {
		v.ExpireTimestamp = &value.ExpireTimestamp
	}
	return k, &versionedValue{value.Version, v}, nil
}

type groupKeyJSON struct {
	Group string `json:"group"`
}

type groupValueJSON struct {
	ProtocolType          string            `json:"protocolType"`
	Generation            int32             `json:"generation"`
	Protocol              *string           `json:"protocol"`
	Leader                *string           `json:"leader"`
	CurrentStateTimestamp *int64            `json:"currentStateTimestamp,omitempty"`
	Members               []groupMemberJSON `json:"members"`
}

type groupMemberJSON struct {
	MemberID         string  `json:"memberId"`
	GroupInstanceID  *string `json:"groupInstanceId"`
	ClientID         string  `json:"clientId"`
	ClientHost       string  `json:"clientHost"`
	RebalanceTimeout int32   `json:"rebalanceTimeout"`
	SessionTimeout   int32   `json:"sessionTimeout"`
	Subscription     []byte  `json:"subscription"`
	Assignment       []byte  `json:"assignment"`
}

func groupRecord(r *kgo.Record) (any, *versionedValue, error) {
	key := kmsg.NewGroupMetadataKey()
	if err := key.ReadFrom(r.Key); err != nil {
		return nil, nil, err
	}
	k := groupKeyJSON{key.Group}
	if r.Value == nil {
		return k, nil, nil
	}
	value := kmsg.NewGroupMetadataValue()
	if err := value.ReadFrom(r.Value); err != nil {
		return nil, nil, err
	}
	v := groupValueJSON{ProtocolType: value.ProtocolType, Generation: value.Generation, Protocol: value.Protocol,
		Leader: value.Leader, Members: []groupMemberJSON{}}
	if value.Version >= 2 {
		v.CurrentStateTimestamp = &value.CurrentStateTimestamp
	}
	for _, m := range value.Members {
		v.Members = append(v.Members, groupMemberJSON{m.MemberID, m.InstanceID, m.ClientID, m.ClientHost,
			m.RebalanceTimeoutMillis, m.SessionTimeoutMillis, m.Subscription, m.Assignment})
	}
	return k, &versionedValue{value.Version, v}, nil
}
