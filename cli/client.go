package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/protocol"
)

// clientConfig holds a client's settings under Kafka's names, from a properties file and from options.
type clientConfig map[string]string

// loadConfig reads a client's properties file. An empty path is no file.
func loadConfig(path string) (clientConfig, error) {
	c := clientConfig{}
	if path == "" {
		return c, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	props, err := config.ParseProperties(path, text)
	if err != nil {
		return nil, err
	}
	for _, p := range props {
		c[p.Name] = p.Value
	}
	return c, nil
}

// fileError is a file that cannot be read, as Java names it.
func fileError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &javaError{class: "java.nio.file.NoSuchFileException", msg: path, cause: err}
	}
	return fmt.Errorf("%s cannot be read: %w", path, err)
}

// keyValues turns repeated key=value arguments into settings; a key alone has the empty value.
func keyValues(args []string) clientConfig {
	c := clientConfig{}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		c[k] = v
	}
	return c
}

// with returns c overridden by more.
func (c clientConfig) with(more clientConfig) clientConfig {
	out := maps.Clone(c)
	maps.Copy(out, more)
	return out
}

// fallback sets a key that is not set yet.
func (c clientConfig) fallback(key, value string) {
	if _, ok := c[key]; !ok {
		c[key] = value
	}
}

// merge sets key to an option's value if the option was given, and to its default if nothing else set the key.
func (c clientConfig) merge(key string, p *parsed, opt string) {
	if p.has(opt) {
		c[key] = p.str(opt)
	} else {
		c.fallback(key, p.str(opt))
	}
}

// number reads a numeric setting, def when it is not set.
func (c clientConfig) number(key string, def int64) (int64, error) {
	v, ok := c[key]
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		return 0, &javaError{class: "org.apache.kafka.common.config.ConfigException",
			msg: fmt.Sprintf("Invalid value %s for configuration %s: Not a number of type INT", v, key)}
	}
	return n, nil
}

// millis reads a setting in milliseconds.
func (c clientConfig) millis(key string, def time.Duration) (time.Duration, error) {
	n, err := c.number(key, def.Milliseconds())
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, err
}

// bootstrap checks host:port,host:port,... and drops the hosts that no name server knows, with a warning. It fails
// if nothing is left.
func (e *env) bootstrap(list string) ([]string, error) {
	var seeds []string
	for s := range strings.SplitSeq(list, ",") {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		host, port, err := net.SplitHostPort(s)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || host == "" || n == 0 {
			return nil, configError("Invalid url in bootstrap.servers: " + s)
		}
		if net.ParseIP(host) == nil {
			if _, err := net.LookupHost(host); err != nil {
				e.log("WARN", "org.apache.kafka.clients.ClientUtils", fmt.Sprintf(
					"Couldn't resolve server %s from bootstrap.servers as DNS resolution failed for %s", s, host))
				continue
			}
		}
		seeds = append(seeds, s)
	}
	if len(seeds) == 0 {
		return nil, configError("No resolvable bootstrap urls given in bootstrap.servers")
	}
	return seeds, nil
}

func configError(msg string) error {
	return &javaError{class: "org.apache.kafka.common.config.ConfigException", msg: msg}
}

// commonKeys are the settings of every client that have an effect, or that need none here.
var commonKeys = []string{"bootstrap.servers", "client.id", "default.api.timeout.ms", "key.deserializer",
	"key.serializer", "metadata.max.age.ms", "retry.backoff.ms", "security.protocol", "value.deserializer", "value.serializer"}

// reportUnused warns about settings that have no effect in this tool.
func (e *env) reportUnused(c clientConfig, used []string) {
	var unused []string
	for k := range c {
		if !slices.Contains(commonKeys, k) && !slices.Contains(used, k) {
			unused = append(unused, k)
		}
	}
	if len(unused) > 0 {
		slices.Sort(unused)
		e.log("WARN", "kafka-"+e.tool, "These settings have no effect in this tool: "+strings.Join(unused, ", "))
	}
}

// clientOptions turns settings that every client has into options of the client library. A failure names what was
// to be created.
func (e *env) clientOptions(c clientConfig, what, kind string) ([]kgo.Opt, error) {
	if p := strings.ToUpper(c["security.protocol"]); p != "" && p != "PLAINTEXT" {
		return nil, configError("security.protocol=" + p + " is not built yet in these tools: connect to a PLAINTEXT listener")
	}
	seeds, err := e.bootstrap(c["bootstrap.servers"])
	if err != nil {
		verb := "construct kafka "
		if what == "KafkaAdminClient" {
			verb = "create new "
		}
		return nil, &javaError{class: "org.apache.kafka.common.KafkaException", msg: "Failed to " + verb + what, cause: err}
	}
	age, err := c.millis("metadata.max.age.ms", 5*time.Minute)
	if err != nil {
		return nil, err
	}
	retry, err := c.millis("retry.backoff.ms", 100*time.Millisecond)
	if err != nil {
		return nil, err
	}
	return []kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.ClientID(c["client.id"]),
		kgo.MetadataMaxAge(max(age, time.Second)),
		kgo.MetadataMinAge(min(retry, time.Second)),
		kgo.RequestRetries(math.MaxInt32),
		kgo.RetryBackoffFn(func(tries int) time.Duration {
			return min(time.Second, retry<<min(tries, 6))
		}),
		kgo.DisableClientMetrics(),
		kgo.WithHooks(&connectHook{env: e, label: "[" + kind + " clientId=" + c["client.id"] + "] "}),
	}, nil
}

// connectHook warns about brokers that cannot be reached.
type connectHook struct {
	env   *env
	label string
}

// OnBrokerConnect is called by the client library after every attempt to connect.
func (h *connectHook) OnBrokerConnect(b kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	id := b.NodeID
	if id < 0 { // the client library numbers its seeds from the smallest number up, Kafka from -1 down
		id = math.MinInt32 - id - 1
	}
	h.env.log("WARN", "org.apache.kafka.clients.NetworkClient", fmt.Sprintf(
		"%sConnection to node %d (%s:%d) could not be established. Node may not be available.", h.label, id, b.Host, b.Port))
}

// cluster is a connection to a cluster for administration. Calls are bounded by default.api.timeout.ms.
type cluster struct {
	cl      *kgo.Client
	timeout time.Duration
	direct  bool // every request goes to a bootstrap server
}

// connect opens a cluster; close it. config has bootstrap.servers.
func (e *env) connect(c clientConfig) (*cluster, error) {
	c.fallback("client.id", "adminclient-1")
	opts, err := e.clientOptions(c, "KafkaAdminClient", "AdminClient")
	if err != nil {
		return nil, err
	}
	timeout, err := c.millis("default.api.timeout.ms", time.Minute)
	if err != nil {
		return nil, err
	}
	e.reportUnused(c, []string{"request.timeout.ms"})
	cl, err := kgo.NewClient(append(opts, kgo.RetryTimeout(timeout))...)
	if err != nil {
		return nil, err
	}
	return &cluster{cl: cl, timeout: timeout}, nil
}

// open is connect with a properties file, overridden by the bootstrap servers.
func (e *env) open(configFile, bootstrap string) (*cluster, error) {
	c, err := loadConfig(configFile)
	if err != nil {
		return nil, err
	}
	c["bootstrap.servers"] = bootstrap
	return e.connect(c)
}

func (c *cluster) close() { c.cl.Close() }

// request sends one request wherever it belongs and waits for the answer. name is what Kafka's client calls it, for
// the message when no broker can be reached in time.
func request[Resp kmsg.Response](c *cluster, name string, req kmsg.Request) (Resp, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	var none Resp
	send := c.cl.Request
	if c.direct {
		send = c.askSeeds
	} else if err := c.await(ctx); err != nil {
		return none, callError(name, err)
	}
	resp, err := send(ctx, req)
	if notKnown(err) {
		a, _ := protocol.APIOf(req.Key())
		return none, &unsupportedError{a.Name}
	}
	if err != nil {
		return none, callError(name, err)
	}
	return resp.(Resp), nil
}

// await returns when a broker has answered: the client library gives up too early on a cluster that is just starting.
func (c *cluster) await(ctx context.Context) error {
	if len(c.cl.DiscoveredBrokers()) > 0 {
		return nil
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	return persist(ctx, func() error {
		_, err := c.cl.Request(ctx, req)
		return err
	})
}

// persist tries something again for as long as no broker can be reached and ctx allows, with pauses up to a second.
func persist(ctx context.Context, try func() error) error {
	pause := 50 * time.Millisecond
	for {
		err := try()
		var network *net.OpError
		if err == nil || !errors.As(err, &network) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, time.Second)
	}
}

func callError(name string, err error) error {
	if isTimeout(err) {
		return &javaError{class: kafkaErrors + "TimeoutException",
			msg: "Timed out waiting for a node assignment. Call: " + name, cause: err}
	}
	return err
}

// unsupportedError is a request that the cluster does not know.
type unsupportedError struct{ api string }

func (e *unsupportedError) Error() string { return "The cluster does not support the request " + e.api }

func (e *unsupportedError) javaClass() string { return kafkaErrors + "UnsupportedVersionException" }

// unsupported reports whether the cluster did not know a request.
func unsupported(err error) bool {
	var u *unsupportedError
	return errors.As(err, &u)
}

// notKnown recognises the client library's error for such a request, which it does not export.
func notKnown(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "request key is unknown") ||
		strings.Contains(err.Error(), "broker is too old"))
}
