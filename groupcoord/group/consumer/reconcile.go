package consumer

import (
	"slices"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
)

// reconcile moves the member towards its target as far as it and others have let go.
func (h *change) reconcile() {
	m := &h.updated
	was := *m
	subscribed := h.subscribedIDs()
	consistent := true
	for t := range m.Assigned {
		consistent = consistent && subscribed[t]
	}
	switch {
	case m.State == Stable && m.Epoch == h.assignmentEpoch:
		if !consistent {
			h.strip(subscribed)
		}
	case m.State == Unrevoked && h.stillHas(m.Revoking):
		if !consistent {
			h.strip(subscribed)
		}
	case m.State == Unknown:
		m.Epoch = h.assignmentEpoch // it has nothing: run has seen to that
		h.next(subscribed)
	default:
		h.next(subscribed)
	}
	if m.Epoch == was.Epoch && m.State == was.State && m.Assigned.equal(was.Assigned) && m.Revoking.equal(was.Revoking) {
		return
	}
	if m.Epoch != was.Epoch {
		m.Previous = was.Epoch
	}
	h.o.Records = append(h.o.Records, h.g.currentRecord(m))
	if m.Classic != nil {
		return // it has timers of its own for joining and asking for its assignment
	}
	if m.State == Unrevoked {
		h.o.Arm(group.RevokeTimer, h.g.ID, m.ID, h.Now.Add(millis(m.RebalanceMs)))
	} else {
		h.o.Cancel(group.RevokeTimer, h.g.ID, m.ID)
	}
}

// subscribedIDs are the topics that the member subscribes to and that exist.
func (h *change) subscribedIDs() map[protocol.UUID]bool {
	ids := map[protocol.UUID]bool{}
	for _, name := range h.g.topicsOf(&h.updated, h.regexes) {
		if t, ok := h.Topics.ByName(name); ok {
			ids[t.ID] = true
		}
	}
	return ids
}

// stillHas says whether the member may have any of it: it does unless it says otherwise.
func (h *change) stillHas(c Claim) bool {
	if h.owned == nil {
		return true
	}
	for t, ps := range h.owned {
		if slices.ContainsFunc(ps, func(p int32) bool { return c.Has(t, p) }) {
			return true
		}
	}
	return false
}

// strip takes away at once what the member does not subscribe to any more, without a new target.
func (h *change) strip(subscribed map[protocol.UUID]bool) {
	m := &h.updated
	keep, revoke := Claim{}, Claim{}
	for t, of := range m.Revoking {
		revoke[t] = of
	}
	for t, of := range m.Assigned {
		if subscribed[t] {
			keep[t] = of
			continue
		}
		all := map[int32]int32{}
		for _, from := range [...]map[int32]int32{m.Revoking[t], of} {
			for p, e := range from {
				all[p] = e
			}
		}
		revoke[t] = all
	}
	m.Assigned = keep
	if len(revoke) > 0 && h.stillHas(revoke) {
		m.State, m.Revoking = Unrevoked, revoke
	}
}

// next computes the next step: first give up, then get what is free.
func (h *change) next(subscribed map[protocol.UUID]bool) {
	m := &h.updated
	target := assign.Partitions{}
	for t, ps := range h.target {
		if subscribed[t] {
			target[t] = ps
		}
	}
	keep, revoke := Claim{}, Claim{}
	for t, of := range m.Assigned {
		for p, e := range of {
			if target.Has(t, p) {
				keep.set(t, p, e)
			} else {
				revoke.set(t, p, e)
			}
		}
	}
	if len(revoke) > 0 && h.stillHas(revoke) {
		m.State, m.Assigned, m.Revoking = Unrevoked, keep, revoke
		return
	}
	state := Stable
	for t, ps := range target {
		for _, p := range ps {
			switch {
			case keep.Has(t, p):
			case h.free(t, p):
				keep.set(t, p, h.assignmentEpoch)
			default:
				state = Unreleased
			}
		}
	}
	m.Epoch, m.State, m.Assigned, m.Revoking = h.assignmentEpoch, state, keep, Claim{}
}

// free says whether nobody else claims the partition.
func (h *change) free(t protocol.UUID, p int32) bool {
	o := h.g.owners[owned{t, p}]
	return o == "" || o == h.updated.ID || o == h.replaced
}
