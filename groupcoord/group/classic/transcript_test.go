package classic

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts anew; then read the difference")

// A transcript is commands, one a line, each followed by what it led to, indented, and the group's state.
//
//	config delay=3s max=2            settings; delay and max
//	join NAME k=v...                 id= instance= version= session= rebalance= type= protocols=p:meta,q:meta
//	sync NAME k=v...                 generation= assign=NAME:bytes,...
//	heartbeat NAME k=v...            generation=
//	leave NAME...                    NAME or instance:NAME
//	commit NAME k=v...               whether the member may commit offsets: generation=
//	advance DURATION
//	refuse CODE                      the log takes nothing until refuse 0
//	reload                           the coordinator moves: all but the log is forgotten
//
// A NAME stands for the id that its last answer gave it.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			old, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(old))
			if *rewrite {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(old) {
				t.Errorf("differs; got:\n%s", got)
			}
		})
	}
}

// player reads the commands of a transcript and plays them.
type player struct {
	*driver
	ids map[string]string
}

func play(t *testing.T, script string) string {
	p := &player{newDriver(t), map[string]string{}}
	for _, line := range strings.Split(script, "\n") {
		if strings.HasPrefix(line, " ") {
			continue // an old answer
		}
		p.logf("%s", line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		p.command(words[0], words[1:])
		if g := p.groups.Get("g"); g != nil {
			p.logf("  = %s", g.show())
		}
	}
	return strings.TrimRight(p.trace.String(), "\n") + "\n"
}

func (p *player) command(verb string, args []string) {
	switch verb {
	case "config":
		o := options(args)
		if d, ok := o["delay"]; ok {
			p.config.InitialDelay = duration(p.t, d)
		}
		if m, ok := o["max"]; ok {
			p.config.MaxSize = number(p.t, m)
		}
	case "join":
		p.join(args[0], options(args[1:]))
	case "sync":
		p.sync(args[0], options(args[1:]))
	case "heartbeat":
		req := kmsg.NewPtrHeartbeatRequest()
		o := options(args[1:])
		req.Group, req.MemberID, req.InstanceID, req.Generation = "g", p.id(args[0], o), stringOrNil(o["instance"]), p.generation(o)
		out, code := p.groups.Heartbeat(p.now, req)
		p.logf("  %s < %d", args[0], code)
		p.carryOut(out)
	case "leave":
		p.leave(args)
	case "commit":
		o := options(args[1:])
		g := p.groups.Get("g")
		p.logf("  %s < %d", args[0], g.CheckCommit(p.id(args[0], o), stringOrNil(o["instance"]), p.generation(o), o["transactional"] != ""))
	case "advance":
		p.advance(duration(p.t, args[0]))
	case "refuse":
		p.refuse = protocol.ErrorCode(number(p.t, args[0]))
	case "reload":
		p.reload()
	default:
		p.t.Fatalf("unknown command %s", verb)
	}
}

// reload is what a coordinator does that takes over: parked requests are gone, the log is replayed.
func (d *driver) reload() {
	log := d.log
	d.groups, d.log = NewGroups(), nil
	clear(d.timers)
	clear(d.asked)
	for _, r := range log {
		d.apply(r)
	}
	d.carryOut(d.groups.Loaded(d.now, d.config))
}

func (p *player) id(name string, o map[string]string) string {
	if id, ok := o["id"]; ok {
		return id
	}
	return p.ids[name]
}

func (p *player) generation(o map[string]string) int32 {
	if s, ok := o["generation"]; ok {
		return int32(number(p.t, s))
	}
	if g := p.groups.Get("g"); g != nil {
		return g.Generation
	}
	return -1
}

func (p *player) join(who string, o map[string]string) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.SetVersion(9)
	if v, ok := o["version"]; ok {
		req.SetVersion(int16(number(p.t, v)))
	}
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = "g", p.id(who, o), stringOrNil(o["instance"]), "test"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10000, 20000
	if s, ok := o["session"]; ok {
		req.SessionTimeoutMillis = int32(duration(p.t, s).Milliseconds())
	}
	if s, ok := o["rebalance"]; ok {
		req.RebalanceTimeoutMillis = int32(duration(p.t, s).Milliseconds())
	}
	if s, ok := o["type"]; ok {
		req.ProtocolType = s
	}
	list, ok := o["protocols"]
	if !ok {
		list = "p:" + who
	}
	for _, x := range strings.Split(list, ",") {
		name, md, _ := strings.Cut(x, ":")
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte(md)})
	}
	p.answers[who] = func(r kmsg.Response, code int16) {
		if j, ok := r.(*kmsg.JoinGroupResponse); ok && code == 0 && (j.ErrorCode == 0 || j.ErrorCode == int16(protocol.MemberIDRequired)) {
			p.ids[who] = j.MemberID
		}
	}
	p.carryOut(p.groups.Join(p.call(who), req))
}

func (p *player) sync(who string, o map[string]string) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = "g", p.id(who, o), stringOrNil(o["instance"]), p.generation(o)
	if a := o["assign"]; a != "" {
		for _, x := range strings.Split(a, ",") {
			name, bytes, _ := strings.Cut(x, ":")
			req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: p.ids[name], MemberAssignment: []byte(bytes)})
		}
	}
	p.carryOut(p.groups.Sync(p.call(who), req))
}

func (p *player) leave(names []string) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = "g"
	for _, n := range names {
		if i, ok := strings.CutPrefix(n, "instance:"); ok {
			req.Members = append(req.Members, kmsg.LeaveGroupRequestMember{InstanceID: &i})
		} else {
			req.Members = append(req.Members, kmsg.LeaveGroupRequestMember{MemberID: p.ids[n]})
		}
	}
	out, r := p.groups.Leave(p.now, p.config, req)
	for i, m := range r.Members {
		p.logf("  %s < %d", names[i], m.ErrorCode)
	}
	p.carryOut(out)
}

func options(args []string) map[string]string {
	o := map[string]string{}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		o[k] = v
	}
	return o
}

func duration(t *testing.T, s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
