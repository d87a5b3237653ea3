package metadata

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/ottla/ottla/protocol/msg"
)

func (d *Delta) replaySecurity(r Record) error {
	switch r := r.(type) {
	case *msg.ClientQuotaRecord:
		d.kinds |= quotaKind
		return d.quota(r)
	case *msg.UserScramCredentialRecord:
		d.kinds |= scramKind
		d.scram.set(typedKey(r.Mechanism, r.Name), r)
	case *msg.RemoveUserScramCredentialRecord:
		d.kinds |= scramKind
		d.scram.delete(typedKey(r.Mechanism, r.Name))
	case *msg.AccessControlEntryRecord:
		d.kinds |= aclKind
		d.acls.set(uuidKey(r.ID), r)
	case *msg.RemoveAccessControlEntryRecord:
		d.kinds |= aclKind
		if _, ok := d.acls.get(uuidKey(r.ID)); !ok {
			return fmt.Errorf("no entry has id %s", r.ID)
		}
		d.acls.delete(uuidKey(r.ID))
	case *msg.DelegationTokenRecord:
		d.kinds |= tokenKind
		d.tokens.set([]byte(r.TokenID), r)
	case *msg.RemoveDelegationTokenRecord:
		d.kinds |= tokenKind
		d.tokens.delete([]byte(r.TokenID))
	default:
		return fmt.Errorf("record type %d has no place in an image", r.RecordID())
	}
	return nil
}

func (d *Delta) quota(r *msg.ClientQuotaRecord) error {
	entity := make([]QuotaEntity, 0, len(r.Entity))
	for _, e := range r.Entity {
		entity = append(entity, QuotaEntity{e.EntityType, e.EntityName})
	}
	slices.SortFunc(entity, func(a, b QuotaEntity) int { return cmp.Compare(a.Type, b.Type) })
	for i := 1; i < len(entity); i++ {
		if entity[i].Type == entity[i-1].Type {
			return fmt.Errorf("entity names %s twice", entity[i].Type)
		}
	}
	key := QuotaKey(entity)
	q := &Quota{Entity: entity, Values: map[string]float64{}}
	if old, ok := d.quotas.get(key); ok {
		q.Values = maps.Clone(old.Values)
	}
	if r.Remove {
		delete(q.Values, r.Key)
	} else {
		q.Values[r.Key] = r.Value
	}
	if len(q.Values) == 0 {
		d.quotas.delete(key)
		return nil
	}
	d.quotas.set(key, q)
	return nil
}

// QuotaKey identifies an entity that is sorted by type; the default name differs from every given one.
func QuotaKey(entity []QuotaEntity) []byte {
	var key []byte
	for _, e := range entity {
		key = append(binary.AppendUvarint(key, uint64(len(e.Type))), e.Type...)
		if e.Name == nil {
			key = append(key, 0)
			continue
		}
		key = append(binary.AppendUvarint(append(key, 1), uint64(len(*e.Name))), *e.Name...)
	}
	return key
}
