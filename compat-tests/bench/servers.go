package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// server is one process under measurement.
type server struct {
	addr   string
	argv   []string
	format []string // run once before the first start; nil: not needed
	dir    string
	cmd    *exec.Cmd
	out    *bytes.Buffer
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// newServer prepares a server with files below dir; it does not start it.
func newServer(o options, name, dir string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	ctl, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{addr: fmt.Sprintf("127.0.0.1:%d", port), dir: dir, out: &bytes.Buffer{}}
	props := filepath.Join(dir, "server.properties")
	text := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:%[2]d
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
advertised.listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
controller.listener.names=CONTROLLER
log.dirs=%[3]s/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
`, port, ctl, dir)
	if err := os.WriteFile(props, []byte(text), 0o644); err != nil {
		return nil, err
	}
	switch name {
	case "ottla":
		s.argv = []string{o.ottla, "server", props}
	case "kafka":
		// the flags of Kafka's own start script
		java := []string{"java", "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
			"-XX:+ExplicitGCInvokesConcurrent", "-cp", filepath.Join(o.tool, "*")}
		s.argv = append(java, "kafka.Kafka", props)
		s.format = []string{"java", "-cp", filepath.Join(o.tool, "*"), "kafka.tools.StorageTool", "format", "--standalone", "-t", "b3R0bGEtYmVuY2gtMDAwMQ", "-c", props}
	case "kfake":
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		s.argv = []string{self, "serve-kfake", strconv.Itoa(port), filepath.Join(dir, "data")}
	default:
		return nil, fmt.Errorf("there is no server called %s", name)
	}
	return s, nil
}

func (s *server) start() error {
	s.cmd = exec.Command(s.argv[0], s.argv[1:]...)
	s.out.Reset()
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	s.cmd.Dir = s.dir
	return s.cmd.Start()
}

// output is what the server printed; only read after it has ended.
func (s *server) output() string {
	s.stop()
	return s.out.String()
}

func (s *server) terminate() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { s.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		s.cmd.Process.Kill()
		<-done
	}
	s.cmd = nil
}

func (s *server) stop() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}

func status(pid int, key string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for _, l := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(l, key+":"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

func (s *server) rssMB() float64  { return status(s.cmd.Process.Pid, "VmRSS") }
func (s *server) peakMB() float64 { return status(s.cmd.Process.Pid, "VmHWM") }

// cpu is the process's user and system time so far.
func (s *server) cpu() time.Duration { return cpuOf(s.cmd.Process.Pid) }

func cpuOf(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 on Linux
}

// serveKfake is the Go fake with its files on disk, as a process of its own.
func serveKfake(port, dir string) error {
	p, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(p), kfake.DataDir(dir), kfake.AllowAutoTopicCreation()); err != nil {
		return err
	}
	select {}
}
