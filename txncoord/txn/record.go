package txn

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// Record is one record of __transaction_state. A nil Transaction is a tombstone.
type Record struct {
	ID          string
	Transaction *Transaction
}

// transactionLog is the record id of the only kind of record there is.
const transactionLog = 0

// Size is what the record takes in a batch, at most.
func (r Record) Size() int {
	const overhead, value = 5 + 1 + 10 + 5 + 5 + 5 + 1, 80
	size := overhead + 4 + len(r.ID)
	if t := r.Transaction; t != nil {
		size += value
		topic := ""
		for _, tp := range t.Partitions {
			if tp.Topic != topic {
				size += len(tp.Topic) + 8
				topic = tp.Topic
			}
			size += 4
		}
	}
	return size
}

// Encode is the record's key and value as Kafka writes them under the cluster's transaction.version; the value of a
// tombstone is nil.
func (r Record) Encode(level int16) (key, value []byte) {
	k := kmsg.TxnMetadataKey{Version: transactionLog, TransactionalID: r.ID}
	key = k.AppendTo(make([]byte, 0, 4+len(r.ID)))
	t := r.Transaction
	if t == nil {
		return key, nil
	}
	v := kmsg.NewTxnMetadataValue()
	v.Version = min(level, flexibleVersion)
	v.ProducerID, v.ProducerEpoch, v.TimeoutMillis, v.State = t.ProducerID, t.Epoch, t.TimeoutMs, kmsg.TransactionState(t.State)
	v.LastUpdateTimestamp, v.StartTimestamp = t.UpdateMs, t.StartMs
	v.PreviousProducerID, v.NextProducerID, v.ClientTransactionVersion = t.PreviousProducerID, t.NextProducerID, t.ClientVersion
	if t.State != Empty {
		v.Topics = []kmsg.TxnMetadataValueTopic{}
	}
	for _, tp := range t.Partitions {
		if n := len(v.Topics); n == 0 || v.Topics[n-1].Topic != tp.Topic {
			v.Topics = append(v.Topics, kmsg.TxnMetadataValueTopic{Topic: tp.Topic})
		}
		of := &v.Topics[len(v.Topics)-1]
		of.Partitions = append(of.Partitions, tp.Partition)
	}
	return key, v.AppendTo(make([]byte, 0, 64))
}

// Decode takes a record apart. known is false for a kind or version of record that did not exist when this was
// written; such records are left alone. Nothing of the arguments is kept.
func Decode(key, value []byte) (r Record, known bool, err error) {
	if len(key) < 2 {
		return r, false, fmt.Errorf("record key: have %d bytes, need 2 for its version", len(key))
	}
	if binary.BigEndian.Uint16(key) != transactionLog {
		return r, false, nil
	}
	var k kmsg.TxnMetadataKey
	if err := k.ReadFrom(key); err != nil {
		return r, false, fmt.Errorf("transaction log key of %d bytes: %w", len(key), err)
	}
	r.ID = k.TransactionalID
	if value == nil {
		return r, true, nil
	}
	if len(value) < 2 {
		return r, false, fmt.Errorf("transaction log value: have %d bytes, need 2 for its version", len(value))
	}
	if version := int16(binary.BigEndian.Uint16(value)); version < 0 || version > flexibleVersion {
		return r, false, nil
	}
	v := kmsg.NewTxnMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return r, false, fmt.Errorf("transaction log value of %d bytes: %w", len(value), err)
	}
	r.Transaction, err = fromLog(r.ID, &v)
	return r, err == nil, err
}

func fromLog(id string, v *kmsg.TxnMetadataValue) (*Transaction, error) {
	state := State(v.State)
	if state < Empty || state > Dead {
		return nil, fmt.Errorf("transaction log value: status %d", v.State)
	}
	t := &Transaction{
		ID: id, ProducerID: v.ProducerID, Epoch: v.ProducerEpoch, LastEpoch: NoEpoch,
		PreviousProducerID: v.PreviousProducerID, NextProducerID: v.NextProducerID, TimeoutMs: v.TimeoutMillis, State: state,
		StartMs: v.StartTimestamp, UpdateMs: v.LastUpdateTimestamp, ClientVersion: v.ClientTransactionVersion,
	}
	if v.Version < flexibleVersion {
		t.PreviousProducerID, t.NextProducerID, t.ClientVersion = NoProducerID, NoProducerID, 0
	}
	if state == Empty {
		return t, nil
	}
	for _, of := range v.Topics {
		for _, p := range of.Partitions {
			t.Partitions = append(t.Partitions, protocol.TopicPartition{Topic: of.Topic, Partition: p})
		}
	}
	slices.SortFunc(t.Partitions, protocol.TopicPartition.Compare)
	t.Partitions = slices.Compact(t.Partitions)
	return t, nil
}
