package groupcoord

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
)

// DescribeGroup describes one group. One that does not exist is "Dead"; version 6 adds an error (KIP-1043).
func (s *Service) DescribeGroup(ctx context.Context, version int16, id string) kmsg.DescribeGroupsResponseGroup {
	r, err := do(ctx, s, id, func(m *machine, _ time.Time) (kmsg.DescribeGroupsResponseGroup, group.Outcome) {
		if m.others.Get(id) != nil || m.consumers.Get(id) != nil {
			return deadGroup(version, id, fmt.Sprintf("Group %s is not a classic group.", id)), group.Outcome{}
		}
		if g := m.groups.Get(id); g != nil {
			return g.Describe(), group.Outcome{}
		}
		return deadGroup(version, id, fmt.Sprintf("Group %s not found.", id)), group.Outcome{}
	})
	if err != nil {
		r = kmsg.NewDescribeGroupsResponseGroup()
		r.Group, r.ErrorCode = id, int16(codeOf(err))
	}
	return r
}

func deadGroup(version int16, id, message string) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group, r.State = id, classic.Dead.String()
	if version >= 6 {
		r.ErrorCode, r.ErrorMessage = int16(protocol.GroupIDNotFound), &message
	}
	return r
}

// ListGroups lists the groups of all shards that are loaded, by name within each.
func (s *Service) ListGroups(ctx context.Context, req *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	r := kmsg.NewPtrListGroupsResponse()
	shards, err := s.allShards()
	for _, sh := range shards {
		var some []kmsg.ListGroupsResponseGroup
		some, err = doIn(ctx, sh, func(m *machine, _ time.Time) ([]kmsg.ListGroupsResponseGroup, group.Outcome) {
			return list(m, req), group.Outcome{}
		})
		if errors.Is(err, rsm.ErrLoading) || errors.Is(err, rsm.ErrNotActive) {
			err = nil
			continue
		}
		if err != nil {
			break
		}
		r.Groups = append(r.Groups, some...)
	}
	if err != nil {
		r.Groups, r.ErrorCode = nil, int16(codeOf(err))
	}
	return r
}

func list(m *machine, req *kmsg.ListGroupsRequest) []kmsg.ListGroupsResponseGroup {
	var out []kmsg.ListGroupsResponseGroup
	for g := range m.groups.All {
		if l, ok := g.Listed(req.StatesFilter, req.TypesFilter); ok && m.others.Get(g.ID) == nil && m.consumers.Get(g.ID) == nil {
			out = append(out, l)
		}
	}
	for g := range m.consumers.All {
		if l, ok := g.Listed(req.StatesFilter, req.TypesFilter); ok {
			out = append(out, l)
		}
	}
	for _, g := range m.others.All() {
		if l, ok := g.Listed(req.StatesFilter, req.TypesFilter); ok {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
	return out
}

// removable is a group that is made of several records.
type removable interface {
	CheckDelete() protocol.ErrorCode
	Tombstones() []group.Record
}

func (m *machine) removable(id string) removable {
	if g := m.consumers.Get(id); g != nil {
		return g
	}
	if g := m.others.Get(id); g != nil {
		return g
	}
	return nil
}

// DeleteGroup deletes an empty group and its offsets.
func (s *Service) DeleteGroup(ctx context.Context, id string) protocol.ErrorCode {
	code, err := do(ctx, s, id, func(m *machine, _ time.Time) (protocol.ErrorCode, group.Outcome) {
		if g := m.removable(id); g != nil {
			if code := g.CheckDelete(); code != protocol.None {
				return code, group.Outcome{}
			}
			records := append(m.offsets.DeleteAll(id), g.Tombstones()...)
			if m.groups.Get(id) != nil { // which its offsets have made
				records = append(records, group.MetadataTombstone(id))
			}
			return protocol.None, group.Outcome{Records: records, Divisible: true}
		}
		g := m.groups.Get(id)
		if g == nil {
			return protocol.GroupIDNotFound, group.Outcome{}
		}
		if code := g.CheckDelete(); code != protocol.None {
			return code, group.Outcome{}
		}
		return protocol.None, group.Outcome{Records: append(m.offsets.DeleteAll(id), group.MetadataTombstone(id)), Divisible: true}
	})
	if err != nil {
		return codeOf(err)
	}
	return code
}
