package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// base is what the cases of load.json change: key=value sets, -key removes.
var base = []string{"process.roles=broker,controller", "node.id=1", "controller.quorum.bootstrap.servers=localhost:9093",
	"listeners=PLAINTEXT://:9092,CONTROLLER://:9093", "controller.listener.names=CONTROLLER",
	"offsets.topic.replication.factor=1"}

func change(set []string) Properties {
	all := slices.Concat(base, set)
	gone := map[string]bool{}
	for _, s := range set {
		if strings.HasPrefix(s, "-") {
			gone[s[1:]] = true
		}
	}
	var p Properties
	for _, s := range all {
		if name, value, ok := strings.Cut(s, "="); ok && !gone[name] {
			p = append(p, Property{Name: name, Value: value})
		}
	}
	return p
}

// stricter are the settings that Kafka starts with and ottla refuses, with a word of the reason.
var stricter = map[string]string{
	"process.roles=broker":                            "not supported",
	"process.roles=controller":                        "not supported",
	"listeners=PLAINTEXT://:99999,CONTROLLER://:9093": "port from 0 to 65535",
	"listeners=PLAINTEXT://:-1,CONTROLLER://:9093":    "port from 0 to 65535",
	"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT:SSL": "TLS is not built",
	"remote.log.storage.system.enable=true":                                                 "tiered storage",
	"replica.selector.class=foo.Bar":                                                        "Java classes",
	"security.providers=x":                                                                  "Java classes",
}

// TestLoadAsKafka compares with what Apache Kafka 4.4 made of the same properties.
func TestLoadAsKafka(t *testing.T) {
	var cases []struct {
		Set                         []string
		OK                          bool
		Listeners, Advertised, Dirs []string
		Inter, Meta                 string
	}
	golden(t, "load.json", &cases)
	for _, c := range cases {
		s, _, err := Load(change(c.Set))
		name := strings.Join(c.Set, " ")
		if c.OK && err != nil {
			if why := stricterWhy(c.Set); why == "" || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, but Kafka starts", name, err)
			}
			continue
		}
		if !c.OK {
			if err == nil {
				t.Errorf("%s: loads, but Kafka refuses", name)
			}
			continue
		}
		var bound, told []string
		for _, x := range s.Listeners {
			bound = append(bound, fmt.Sprintf("%s/%s/%s:%d", x.Name, x.SecurityProtocol, x.Host, x.Port))
			if x.Advertised {
				told = append(told, fmt.Sprintf("%s/%s/%s:%d", x.Name, x.SecurityProtocol, x.AdvertisedHost, x.AdvertisedPort))
			}
		}
		for what, pair := range map[string][2]any{"listeners": {bound, c.Listeners}, "advertised": {told, c.Advertised}, "inter": {s.InterBrokerListener, c.Inter},
			"dirs": {s.LogDirs, c.Dirs}, "meta": {s.MetadataLogDir, c.Meta}} {
			if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
				t.Errorf("%s: %s %v, want %v", name, what, pair[0], pair[1])
			}
		}
	}
}

func stricterWhy(set []string) string {
	for _, s := range set {
		if why := stricter[s]; why != "" {
			return why
		}
	}
	return ""
}

// The sentence names key, value and what is allowed.
func TestLoadErrors(t *testing.T) {
	for set, want := range map[string]string{
		"num.partitions=0":                            "num.partitions=0: allowed is a whole number, at least 1",
		"num.partitions=abc":                          "num.partitions=abc: allowed is a whole number, at least 1",
		"auto.create.topics.enable=yes":               "auto.create.topics.enable=yes: allowed is true or false",
		"compression.type=foo":                        "compression.type=foo: allowed is one of uncompressed, zstd, lz4, snappy, gzip, producer",
		"log.cleaner.min.cleanable.ratio=2":           "log.cleaner.min.cleanable.ratio=2: allowed is a number from 0 to 1",
		"authorizer.class.name=a.B":                   "authorizer.class.name=a.B is not supported: authorisation is not built yet",
		"ottla.log.level=loud":                        "ottla.log.level=loud: allowed is one of debug, info, warn, error",
		"replica.lag.time.max.ms=100":                 "replica.fetch.wait.max.ms=500: allowed with replica.lag.time.max.ms=100 is at most 100",
		"group.consumer.heartbeat.interval.ms=100000": "group.consumer.heartbeat.interval.ms=100000: allowed with group.consumer.max.heartbeat.interval.ms=15000 is at most 15000",
	} {
		_, _, err := Load(change([]string{set}))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n%v\nwant\n%s", set, err, want)
		}
	}
	p, err := ParseProperties("f", []byte("process.roles=broker,controller\nnode.id=x\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(p); err == nil || !strings.HasPrefix(err.Error(), "node.id=x (line 2): allowed is") {
		t.Error(err)
	}
}

func TestLoadWarnings(t *testing.T) {
	for set, want := range map[string]string{
		"no.such.key=1":                 "Unknown properties are ignored: no.such.key",
		"num.io.threads=16":             "num.io.threads=16 has no effect: connections and groups are goroutines here; there is no pool of threads to size",
		"group.share.max.size=100":      "group.share.max.size=100 has no effect: share groups (KIP-932) are not built yet",
		"zookeeper.connect=h:2181":      "zookeeper.connect is ignored: Kafka 4 has no ZooKeeper; the controllers keep the metadata",
		"listener.name.plaintext.foo=1": "Unknown properties are ignored: listener.name.plaintext.foo",
		"num.io.threads=8":              "",
		"-offsets.topic.replication.factor": "offsets.topic.replication.factor=3 cannot be reached by one node: consumer groups find no coordinator" +
			" unless __consumer_offsets exists; set it to 1",
		"log.retention.hours=2":         "",
		"socket.send.buffer.bytes=4096": "",
		"ssl.keystore.password=hunter2": "Without effect, since TLS, SASL and delegation tokens are not built yet: ssl.keystore.password",
	} {
		_, warnings, err := Load(change([]string{set}))
		if err != nil {
			t.Error(set, err)
		}
		if got := strings.Join(warnings, "|"); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
	_, warnings, _ := Load(Properties{{"a", "1", 3}, {"a", "2", 9}, {"a", "3", 0}})
	if len(warnings) == 0 || warnings[0] != "a is set on lines 3 and 9; the later one counts" {
		t.Error(warnings)
	}
}

// A file that asks for security loads where nothing is left open by leaving that out.
func TestLoadSecurity(t *testing.T) {
	const mapped = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT"
	const three = "listeners=PLAINTEXT://:9092,SASL://:9094,TLS://:9095,CONTROLLER://:9093"
	const standard = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
	s, warnings, err := Load(change([]string{mapped, three, standard, "super.users=User:admin; User:ANONYMOUS", "sasl.enabled.mechanisms=PLAIN"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Listeners) != 2 || s.Listener("PLAINTEXT") == nil || s.Listener("CONTROLLER") == nil {
		t.Errorf("bound: %+v", s.Listeners)
	}
	want := []string{"super.users is ignored: authorisation is not built yet",
		"Listeners that are not opened: SASL (SASL is not built yet), TLS (TLS is not built yet)",
		"Without effect, since TLS, SASL and delegation tokens are not built yet: sasl.enabled.mechanisms",
		"authorizer.class.name has no effect: clients are User:ANONYMOUS, which super.users allows everything"}
	if !slices.Equal(warnings, want) {
		t.Errorf("%q", warnings)
	}
	for _, c := range []struct {
		set []string
		err string
	}{
		{[]string{standard}, "is not supported: authorisation is not built yet"},
		{[]string{standard, "super.users=User:admin"}, "is not supported: authorisation is not built yet"},
		{[]string{"authorizer.class.name=a.B", "super.users=User:ANONYMOUS"}, "is not supported: authorisation is not built yet"},
		{[]string{mapped, three, "inter.broker.listener.name=SASL"}, "SASL has security protocol SASL_PLAINTEXT, and SASL is not built yet"},
		{[]string{mapped, "listeners=TLS://:9092,CONTROLLER://:9093", "inter.broker.listener.name=TLS"}, "TLS has security protocol SSL, and TLS is not built yet"},
		{[]string{mapped, three, "advertised.listeners=SASL://h:9094", "inter.broker.listener.name=SASL"}, "SASL is not built yet"},
		{[]string{"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"}, "CONTROLLER has security protocol SSL"},
	} {
		if _, _, err := Load(change(c.set)); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, want %s", c.set, err, c.err)
		}
	}
}

// The file that ships loads without a warning.
func TestShippedFile(t *testing.T) {
	text, err := os.ReadFile("server.properties")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseProperties("server.properties", text)
	if err != nil {
		t.Fatal(err)
	}
	s, warnings, err := Load(p)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if s.Listener("PLAINTEXT").AdvertisedHost != "localhost" || s.InterBrokerListener != "PLAINTEXT" || !s.Listener("CONTROLLER").Controller {
		t.Errorf("%+v", s)
	}
}

func TestDefault(t *testing.T) {
	s, warnings, err := Load(Default("ottla-data", nil))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if x := s.Listener("PLAINTEXT"); x.Host != "localhost" || x.Port != 9092 || s.LogDirs[0] != "ottla-data" || s.NodeID != 1 {
		t.Errorf("%+v", s)
	}
	s, _, err = Load(Default("d", Properties{{Name: "listeners", Value: "PLAINTEXT://localhost:9192"}, {Name: "log.dirs", Value: "e"}}))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Listeners) != 2 || s.Listeners[0].Port != 9192 || !s.Listeners[1].Controller || s.LogDirs[0] != "e" {
		t.Errorf("%+v", s)
	}
}
