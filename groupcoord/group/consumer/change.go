package consumer

import (
	"slices"
	"time"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
)

// change is a member's arrival or progress being decided: what the member was, what it will be, and the records so
// far. The group itself stays as it is.
type change struct {
	Call
	g     *Group
	o     group.Outcome
	owned assign.Partitions // what the member says it has, nil: it does not say

	before  Member
	updated Member
	isNew   bool
	// replaced is the static member whose place this one takes, "" for none. Its tombstones are among the records.
	replaced string

	// What the group will be.
	epoch           int32
	hash            int64
	assignmentEpoch int32
	regexes         map[string]*Regex
	target          assign.Partitions // of the member
}

func fault(code protocol.ErrorCode, message string) error {
	return &protocol.Fault{Code: code, Message: message}
}

// find sets before: the member itself, a new one, or the static one whose place it takes. For members on the classic
// protocol the epoch is not looked at, and joining says whether they are new.
func (h *change) find(id, instance string, epoch int32, classic bool) error {
	g := h.g
	joins := epoch == epochJoin
	if g.members[id] == nil && len(g.members) >= h.Config.MaxSize && (instance == "" || g.static[instance] == "") {
		return fault(protocol.GroupMaxSizeReached, "The consumer group has reached its maximum capacity.")
	}
	m := g.members[id]
	if instance != "" {
		m = g.members[g.static[instance]]
	}
	switch {
	case m == nil && !joins && instance != "":
		return fault(protocol.UnknownMemberID, "Instance id "+instance+" is unknown.")
	case m == nil && !joins:
		return fault(protocol.UnknownMemberID, "Member "+id+" is not a member of group "+g.ID+".")
	case m == nil:
		h.isNew = true
		h.before = Member{ID: id, RebalanceMs: -1, Assigned: Claim{}, Revoking: Claim{}}
		return nil
	case m.ID != id && !joins:
		return fault(protocol.FencedInstanceID, "Static member "+id+" with instance id "+instance+" was fenced by member "+m.ID+".")
	case m.ID != id:
		if !classic && m.Classic == nil && m.Epoch != epochLeaveStatic {
			return fault(protocol.UnreleasedInstanceID, "Static member "+id+" with instance id "+instance+
				" cannot join the group because the instance id is owned by "+m.ID+" member.")
		}
		h.replace(m, id)
		return nil
	}
	h.before = *m
	if classic || joins {
		return nil
	}
	return checkMemberEpoch(m, epoch, h.owned)
}

// replace puts a member in the place of a static one that has left: it gets what that had.
func (h *change) replace(old *Member, id string) {
	h.replaced = old.ID
	h.before = *old
	h.before.ID, h.before.Epoch, h.before.Previous = id, 0, 0
	h.o.Records = append(h.o.Records, h.g.memberTombstones(old.ID)...)
	h.o.Records = append(h.o.Records, h.g.memberRecord(&h.before), h.g.targetRecord(id, h.g.target[old.ID]), h.g.currentRecord(&h.before))
	h.o.Note(h.g.ID, "Member %s takes the place of %s", id, old.ID)
}

// checkMemberEpoch fences a member that has missed something. One whose answer was lost comes with the epoch
// before, and has nothing but what it was given since.
func checkMemberEpoch(m *Member, epoch int32, has assign.Partitions) error {
	switch {
	case epoch > m.Epoch:
		return fault(protocol.FencedMemberEpoch, "The consumer group member has a greater member epoch than the one known by the group coordinator. The member must abandon all its partitions and rejoin.")
	case epoch < m.Epoch && (epoch != m.Previous || !within(has, m.Assigned)):
		return fault(protocol.FencedMemberEpoch, "The consumer group member has a smaller member epoch than the one known by the group coordinator. The member must abandon all its partitions and rejoin.")
	}
	return nil
}

func within(has assign.Partitions, in Claim) bool {
	if has == nil {
		return false
	}
	for t, ps := range has {
		if in[t] == nil || slices.ContainsFunc(ps, func(p int32) bool { return !in.Has(t, p) }) {
			return false
		}
	}
	return true
}

// run goes from the member's new description to its new assignment.
func (h *change) run() error {
	g := h.g
	h.epoch, h.hash, h.assignmentEpoch = g.Epoch, g.Hash, g.AssignmentEpoch
	if h.before.State == Unknown && (h.owned == nil || h.owned.Len() > 0) {
		return fault(protocol.FencedMemberEpoch, "The consumer group member is in an unknown state. The member must abandon all its partitions and rejoin.")
	}
	if h.updated.Regex != h.before.Regex {
		if _, err := compile(h.updated.Regex); err != nil {
			return fault(protocol.InvalidRegularExpression, "SubscribedTopicRegex `"+h.updated.Regex+"` is not a valid regular expression: "+err.Error()+".")
		}
	}
	if h.isNew || !sameDescription(&h.updated, &h.before) {
		h.o.Records = append(h.o.Records, g.memberRecord(&h.updated))
	}
	if h.isNew {
		h.o.Note(g.ID, "Member %s joins the group", h.updated.ID)
	}
	h.refresh()
	if err := h.assign(); err != nil {
		return err
	}
	h.reconcile()
	return nil
}

// sameDescription compares all but epochs and partitions.
func sameDescription(a, b *Member) bool {
	return a.Instance == b.Instance && a.Rack == b.Rack && a.ClientID == b.ClientID && a.Host == b.Host &&
		slices.Equal(a.Topics, b.Topics) && a.Regex == b.Regex && a.RebalanceMs == b.RebalanceMs &&
		a.Assignor == b.Assignor && sameClassic(a.Classic, b.Classic)
}

func sameClassic(a, b *Classic) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.SessionMs == b.SessionMs && slices.EqualFunc(a.Protocols, b.Protocols, func(p, q Protocol) bool {
		return p.Name == q.Name && slices.Equal(p.Metadata, q.Metadata)
	})
}

// everybody lists the members as they will be, by id.
func (h *change) everybody() []*Member {
	ms := make([]*Member, 0, len(h.g.members)+1)
	seen := false
	for _, m := range h.g.sorted() {
		switch m.ID {
		case h.replaced:
		case h.updated.ID:
			ms, seen = append(ms, &h.updated), true
		default:
			ms = append(ms, m)
		}
	}
	if !seen {
		ms = append(ms, &h.updated)
	}
	return ms
}

// preferred is the assignor with most votes, else the default. Equal votes go to the one configured first.
func preferred(c Config, ms []*Member) string {
	votes := map[string]int{}
	for _, m := range ms {
		if m.Assignor != "" {
			votes[m.Assignor]++
		}
	}
	best, most := c.Assignors[0], 0
	for _, a := range c.Assignors {
		if votes[a] > most {
			best, most = a, votes[a]
		}
	}
	return best
}

// refresh finds out whether the group's epoch has to grow: because of what the member now subscribes to or
// prefers, or because topics have changed.
func (h *change) refresh() {
	g, ms := h.g, h.everybody()
	grown := h.resolve(ms)
	if h.updated.Regex != h.before.Regex || !slices.Equal(h.updated.Topics, h.before.Topics) {
		grown = true
	}
	if h.isNew && len(ms) > 1 || h.updated.Assignor != h.before.Assignor {
		was := make([]*Member, 0, len(ms))
		for _, m := range ms {
			switch {
			case m != &h.updated:
				was = append(was, m)
			case !h.isNew:
				was = append(was, &h.before)
			}
		}
		if preferred(h.Config, was) != preferred(h.Config, ms) {
			grown = true
		}
	}
	if version := h.Topics.Version(); grown || g.checked != version {
		h.hash = metadataHash(h.Topics, h.subscribed(ms))
		if h.hash != g.Hash {
			grown = true
		}
		if !grown {
			g.checked = version
		}
	}
	if grown {
		h.epoch++
		h.o.Records = append(h.o.Records, g.epochRecord(h.epoch, h.hash))
		h.o.Note(g.ID, "The group is at epoch %d", h.epoch)
	}
}

// subscribed is all topics that members subscribe to, sorted.
func (h *change) subscribed(ms []*Member) []string { return subscribed(h.g, ms, h.regexes) }

func subscribed(g *Group, ms []*Member, regexes map[string]*Regex) []string {
	all := map[string]bool{}
	for _, m := range ms {
		for _, t := range g.topicsOf(m, regexes) {
			all[t] = true
		}
	}
	list := make([]string, 0, len(all))
	for t := range all {
		list = append(list, t)
	}
	slices.Sort(list)
	return list
}

// assign brings the target up to the group's epoch, unless that was done a moment ago.
func (h *change) assign() error {
	g := h.g
	h.target = g.target[h.updated.ID]
	if h.replaced != "" {
		h.target = g.target[h.replaced]
	}
	interval := h.Config.AssignmentInterval.Milliseconds()
	if h.epoch <= g.AssignmentEpoch || g.AssignedAt > 0 && interval > 0 && h.Now.UnixMilli()-g.AssignedAt < interval {
		return nil
	}
	ms := h.everybody()
	in := assign.Group{Counts: map[protocol.UUID]int32{}}
	var first []string
	in.Equal = true
	for i, m := range ms {
		topics := g.topicsOf(m, h.regexes)
		if i == 0 {
			first = topics
		}
		in.Equal = in.Equal && slices.Equal(first, topics)
		x := assign.Member{ID: m.ID, Instance: m.Instance, Target: g.target[m.ID]}
		if m == &h.updated {
			x.Target = h.target
		}
		for _, name := range topics {
			if t, ok := h.Topics.ByName(name); ok {
				x.Topics = append(x.Topics, t.ID)
				in.Counts[t.ID] = t.Partitions
			}
		}
		in.Members = append(in.Members, x)
	}
	out, err := assign.ByName(preferred(h.Config, ms))(in)
	if err != nil {
		return fault(protocol.UnknownServerError, err.Error())
	}
	for _, x := range in.Members {
		_, had := g.target[x.ID]
		had = had || x.ID == h.updated.ID && h.replaced != ""
		if !had || !out[x.ID].Equal(x.Target) {
			h.o.Records = append(h.o.Records, g.targetRecord(x.ID, out[x.ID]))
		}
	}
	h.o.Records = append(h.o.Records, g.assignmentRecord(h.epoch, h.Now.UnixMilli()))
	h.assignmentEpoch, h.target = h.epoch, out[h.updated.ID]
	return nil
}

func millis(n int32) time.Duration { return time.Duration(n) * time.Millisecond }
