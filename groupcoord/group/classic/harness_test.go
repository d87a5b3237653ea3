package classic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// driver does what the real one does with outcomes, in virtual time and without a log: records are applied at once,
// timers fire when the clock is moved.
type driver struct {
	t       *testing.T
	groups  *Groups
	config  Config
	now     time.Time
	timers  map[group.Timer]time.Time // keys have a zero At
	log     []group.Record
	refuse  protocol.ErrorCode // the log takes nothing
	token   group.Token
	asked   map[group.Token]string                       // who waits
	answers map[string]func(r kmsg.Response, code int16) // how to tell him; optional
	trace   strings.Builder
	unique  int
	quiet   bool
}

func newDriver(t *testing.T) *driver {
	return &driver{
		t: t, groups: NewGroups(), now: time.UnixMilli(1_000_000), timers: map[group.Timer]time.Time{},
		asked: map[group.Token]string{}, answers: map[string]func(kmsg.Response, int16){},
		config: Config{SessionMin: time.Second, SessionMax: time.Hour, InitialDelay: 3 * time.Second, MaxSize: 1 << 30},
	}
}

func (d *driver) logf(format string, args ...any) {
	if !d.quiet {
		fmt.Fprintf(&d.trace, format+"\n", args...)
	}
}

// call is the circumstances of a request by who.
func (d *driver) call(who string) Call {
	d.token++
	d.unique++
	d.asked[d.token] = who
	return Call{Now: d.now, Config: d.config, ClientID: who, Host: "/" + who, Unique: fmt.Sprint(d.unique), Token: d.token}
}

// carryOut does what was decided. It says with which error the records were refused, if they were.
func (d *driver) carryOut(o group.Outcome) protocol.ErrorCode {
	d.t.Helper()
	for _, n := range o.Notes {
		d.logf("  note %s", n.Text)
	}
	for _, t := range o.Timers {
		key := t
		key.At = time.Time{}
		name := strings.TrimSpace(fmt.Sprintf("%s %s", t.Kind, t.Member))
		if t.At.IsZero() {
			if _, armed := d.timers[key]; armed {
				d.logf("  cancel %s", name)
			}
			delete(d.timers, key)
			continue
		}
		d.logf("  arm %s +%v", name, t.At.Sub(d.now))
		d.timers[key] = t.At
	}
	code := protocol.None
	if len(o.Records) > 0 {
		code = d.refuse
	}
	if code == protocol.None {
		for _, r := range o.Records {
			d.apply(r)
		}
	}
	for _, r := range o.Replies {
		d.reply(r, code)
	}
	if code != protocol.None && o.Refused != nil {
		d.logf("  refused %v", code)
		d.carryOut(o.Refused(d.now, code))
	}
	d.check()
	return code
}

func (d *driver) apply(r group.Record) {
	d.t.Helper()
	p, err := group.Parse(r)
	if err != nil {
		d.t.Fatal(err)
	}
	d.log = append(d.log, r)
	d.logf("  record %s", showMetadata(p.Metadata))
	d.groups.Apply(*p.Group, p.Metadata)
}

func (d *driver) reply(r group.Reply, code protocol.ErrorCode) {
	d.t.Helper()
	who, waits := d.asked[r.Token]
	if !waits {
		d.t.Fatalf("token %d answered twice", r.Token)
	}
	delete(d.asked, r.Token)
	if code != protocol.None {
		d.logf("  %s < error %d", who, int16(code))
	} else {
		d.logf("  %s < %s", who, showAnswer(r.Response))
	}
	if f := d.answers[who]; f != nil {
		f(r.Response, int16(code))
	}
}

// advance moves the clock and fires what falls due, in order.
func (d *driver) advance(by time.Duration) {
	d.t.Helper()
	end := d.now.Add(by)
	for {
		var due group.Timer
		var at time.Time
		for k, x := range d.timers {
			if at.IsZero() || x.Before(at) || x.Equal(at) && less(k, due) {
				due, at = k, x
			}
		}
		if at.IsZero() || at.After(end) {
			break
		}
		d.now = at
		delete(d.timers, due)
		d.logf("  %s fires", strings.TrimSpace(fmt.Sprintf("%s %s", due.Kind, due.Member)))
		d.carryOut(d.groups.Expire(d.now, d.config, due))
	}
	d.now = end
}

func less(a, b group.Timer) bool {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Member, b.Member)) < 0
}

// check is the invariants of every group.
func (d *driver) check() {
	d.t.Helper()
	for g := range d.groups.All {
		if err := g.check(); err != nil {
			d.t.Fatalf("group %s in %s: %v: %s\n%s", g.ID, g.State, err, g.show(), d.trace.String())
		}
		for id, m := range g.members {
			key := group.Timer{Kind: group.MemberTimer, Group: g.ID, Member: id}
			if _, armed := d.timers[key]; !armed && m.joining == 0 && m.syncing == 0 {
				d.t.Fatalf("member %s has no session timer\n%s", id, d.trace.String())
			}
		}
		_, join := d.timers[group.Timer{Kind: group.JoinTimer, Group: g.ID}]
		_, sync := d.timers[group.Timer{Kind: group.SyncTimer, Group: g.ID}]
		if g.State == PreparingRebalance && !join {
			d.t.Fatalf("group %s waits for ever in its join\n%s", g.ID, d.trace.String())
		}
		if g.State == CompletingRebalance && !sync && len(g.unsynced) > 0 {
			d.t.Fatalf("group %s waits for ever in its sync\n%s", g.ID, d.trace.String())
		}
	}
}

func (g *Group) check() error {
	awaiting, offered := 0, map[string]int{}
	for id, m := range g.members {
		if m.ID != id {
			return fmt.Errorf("member %s under %s", m.ID, id)
		}
		if m.joining != 0 {
			awaiting++
			if g.State != PreparingRebalance {
				return fmt.Errorf("%s waits in a join", id)
			}
		}
		if m.syncing != 0 && g.State != CompletingRebalance {
			return fmt.Errorf("%s waits in a sync", id)
		}
		for _, p := range m.Protocols {
			offered[p.Name]++
		}
		if m.Instance != "" && g.static[m.Instance] != id {
			return fmt.Errorf("instance %s is %s, not %s", m.Instance, g.static[m.Instance], id)
		}
		if g.pending[id] {
			return fmt.Errorf("%s is a member and pending", id)
		}
		if m.Assignment == nil {
			return fmt.Errorf("%s has a null assignment", id)
		}
	}
	switch {
	case awaiting != g.awaiting:
		return fmt.Errorf("%d await a join, counted %d", awaiting, g.awaiting)
	case fmt.Sprint(offered) != fmt.Sprint(cmp.Or(fmt.Sprint(g.offered), "map[]")) && len(offered)+len(g.offered) > 0:
		return fmt.Errorf("offered %v, counted %v", offered, g.offered)
	case (g.State == Stable || g.State == CompletingRebalance) && g.members[g.Leader] == nil:
		return fmt.Errorf("leader %q is no member", g.Leader)
	case (g.State == Stable || g.State == CompletingRebalance) && g.offered[g.Protocol] != len(g.members):
		return fmt.Errorf("protocol %q is not offered by all", g.Protocol)
	case g.State == Empty && (len(g.members) > 0 || g.Leader != "" || g.Protocol != ""):
		return fmt.Errorf("not empty: %d members, leader %q, protocol %q", len(g.members), g.Leader, g.Protocol)
	}
	for i, id := range g.static {
		if g.members[id] == nil {
			return fmt.Errorf("instance %s is %s, who is no member", i, id)
		}
	}
	return nil
}

func showAnswer(r kmsg.Response) string {
	switch r := r.(type) {
	case *kmsg.JoinGroupResponse:
		s := fmt.Sprintf("joined error=%d member=%s", r.ErrorCode, r.MemberID)
		if r.ErrorCode != 0 {
			return s
		}
		s += fmt.Sprintf(" generation=%d leader=%s protocol=%s/%s", r.Generation, r.LeaderID, deref(r.ProtocolType), deref(r.Protocol))
		if r.SkipAssignment {
			s += " skip"
		}
		var ms []string
		for _, m := range r.Members {
			ms = append(ms, fmt.Sprintf("%s:%s", m.MemberID, m.ProtocolMetadata))
		}
		if len(ms) > 0 {
			s += " members=" + strings.Join(ms, ",")
		}
		return s
	case *kmsg.SyncGroupResponse:
		return fmt.Sprintf("synced error=%d assignment=%q", r.ErrorCode, r.MemberAssignment)
	}
	return fmt.Sprint(r)
}

func showMetadata(v *kmsg.GroupMetadataValue) string {
	if v == nil {
		return "tombstone"
	}
	var ms []string
	for _, m := range v.Members {
		ms = append(ms, fmt.Sprintf("%s:%s=%q", m.MemberID, m.Subscription, m.Assignment))
	}
	return fmt.Sprintf("generation=%d protocol=%s/%s leader=%s members=[%s]", v.Generation, v.ProtocolType, deref(v.Protocol), deref(v.Leader), strings.Join(ms, " "))
}

// show is one line about a group.
func (g *Group) show() string {
	var ms []string
	for _, m := range g.inOrder() {
		s := m.ID
		if m.joining != 0 {
			s += "(joining)"
		}
		if m.syncing != 0 {
			s += "(syncing)"
		}
		ms = append(ms, s)
	}
	var ps []string
	for p := range g.pending {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	s := fmt.Sprintf("%s generation=%d leader=%s protocol=%s members=%s", g.State, g.Generation, g.Leader, g.Protocol, strings.Join(ms, ","))
	if len(ps) > 0 {
		s += " pending=" + strings.Join(ps, ",")
	}
	return s
}
