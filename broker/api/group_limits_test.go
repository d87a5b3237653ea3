package api

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestGroupLimitsAsKafka runs with an initial delay of 1 s, three members at most and a retention of a minute.
func TestGroupLimitsAsKafka(t *testing.T) {
	c := goldenConfig()
	c.Classic.InitialDelay, c.Classic.MaxSize = time.Second, 3
	c.OffsetsRetention, c.RetentionCheckInterval = time.Minute, 10*time.Second
	limits := func(name string, scenario func(s *session)) {
		goldenWith(t, name, c, "OTTLA_RECORD_LIMITS_FROM", scenario)
	}

	limits("initial_delay", func(s *session) {
		s.note("members that come within the delay prolong it, at most to a rebalance timeout")
		a, b, d := s.member("A", "g"), s.member("B", "g"), s.member("D", "g")
		a.rebal, b.rebal, d.rebal = 2500, 2500, 2500
		a.arrive()
		b.arrive()
		d.arrive()
		started := time.Now()
		pa := a.joining()
		time.Sleep(500 * time.Millisecond)
		pb := b.joining()
		time.Sleep(time.Second) // 1.5: the second portion ends at 2
		pd := d.joining()
		time.Sleep(700 * time.Millisecond) // 2.2: the last half second
		pa.silent()
		a.joined(pa)
		b.joined(pb)
		d.joined(pd)
		if took := time.Since(started); took < 2400*time.Millisecond || took > 2900*time.Millisecond {
			s.t.Errorf("joined after %v", took)
		}
		s.note("a member that leaves meanwhile")
		e, f := s.member("E", "h"), s.member("F", "h")
		e.arrive()
		f.arrive()
		pe := e.joining()
		time.Sleep(100 * time.Millisecond)
		pf := f.joining()
		time.Sleep(100 * time.Millisecond)
		e.leaveFrom("Z", 5, kmsg.LeaveGroupRequestMember{MemberID: e.id})
		pe.wait()
		f.joined(pf)
		s.note("nobody is left")
		i := s.member("I", "i")
		i.arrive()
		pi := i.joining()
		time.Sleep(100 * time.Millisecond)
		i.leaveFrom("Z", 5, kmsg.LeaveGroupRequestMember{MemberID: i.id})
		pi.wait()
		s.describe(5, s.name("i"))
		time.Sleep(1300 * time.Millisecond)
		s.describe(5, s.name("i"))
		s.dump(s.name("i"))
	})

	limits("max_size", func(s *session) {
		a, b, d, e := s.member("A", "g"), s.member("B", "g"), s.member("D", "g"), s.member("E", "g")
		for _, m := range []*member{a, b, d, e} {
			m.rebal = 4000
			m.arrive()
		}
		pa := a.joining()
		time.Sleep(50 * time.Millisecond)
		pb := b.joining()
		time.Sleep(50 * time.Millisecond)
		pd := d.joining()
		time.Sleep(50 * time.Millisecond)
		s.note("a fourth")
		e.joined(e.joining())
		e.id = ""
		e.joined(e.joining())
		a.joined(pa)
		b.joined(pb)
		d.joined(pd)
		s.note("while it completes")
		e.joined(e.joining())
		pb, pd = b.syncing(), d.syncing()
		time.Sleep(50 * time.Millisecond)
		a.sync(a.id, "a", b.id, "b", d.id, "d")
		pb.wait()
		pd.wait()
		s.note("while it is stable")
		e.joined(e.joining())
		e.instance = kmsg.StringPtr("i")
		e.joined(e.joining())
		e.instance = nil
		s.note("a pending id counts")
		d.leave(5, kmsg.LeaveGroupRequestMember{MemberID: d.id})
		pa = a.joining()
		time.Sleep(50 * time.Millisecond)
		pb = b.joining()
		a.joined(pa)
		b.joined(pb)
		pb = b.syncing()
		time.Sleep(50 * time.Millisecond)
		a.sync(a.id, "a", b.id, "b")
		pb.wait()
		e.arrive()
		f := s.member("F", "g")
		f.joined(f.joining())
		s.describe(5, s.name("g"))
		s.note("and can still be used")
		pe := e.joining()
		time.Sleep(50 * time.Millisecond)
		a.until(27)
		pa = a.joining()
		time.Sleep(50 * time.Millisecond)
		pb = b.joining()
		e.joined(pe)
		a.joined(pa)
		b.joined(pb)
		s.dump(s.name("g"))
	})

	limits("expiry", func(s *session) {
		topic := s.name("t")
		at := commitment{topic, 0, 1, -1, nil}
		s.note("a simple group, one with a member, one of consumers that reads another topic, one that was left")
		s.commit("X", 8, s.name("simple"), "", -1, nil, at)
		live := s.member("L", "live")
		live.session = 120000
		live.join()
		live.sync(live.id, "x")
		live.commit(topic, 0, 1)
		readers := s.member("R", "readers")
		readers.kind, readers.session = "consumer", 120000
		readers.protocols = []string{"range=" + string([]byte{0, 0, 0, 0, 0, 1, 0, 5}) + "other" + string([]byte{255, 255, 255, 255})}
		readers.join()
		readers.sync(readers.id, "x")
		readers.commit(topic, 0, 1)
		left := s.member("G", "left")
		left.session = 120000
		left.join()
		left.sync(left.id, "x")
		left.commit(topic, 0, 1)
		time.Sleep(30 * time.Second)
		left.leave(5, kmsg.LeaveGroupRequestMember{MemberID: left.id})
		s.commit("X", 8, s.name("simple"), "", -1, nil, commitment{topic, 1, 1, -1, nil})
		show := func() {
			for _, g := range []string{"simple", "live", "readers", "left"} {
				s.fetch(8, s.name(g), false, nil)
				s.describe(5, s.name(g))
			}
		}
		s.note("after three quarters of a minute more")
		time.Sleep(45 * time.Second)
		show()
		s.note("and once more")
		time.Sleep(30 * time.Second)
		show()
		for _, g := range []string{"simple", "readers", "left"} {
			s.dump(s.name(g))
		}
	})
}
