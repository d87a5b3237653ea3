package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// runLogDirs is kafka-log-dirs: what lies in the log directories of brokers, as JSON.
func runLogDirs(e *env) int {
	p, code, done, err := e.parse("Shows what lies in the log directories of brokers, as JSON.", []option{
		{name: "bootstrap-server", arg: requiredArg, hint: "The server(s) to use for bootstrapping", doc: "REQUIRED: host:port of a broker, or several separated by commas."},
		{name: "command-config", arg: requiredArg, hint: "Admin client property file", doc: "Properties file with settings for the connection."},
		{name: "describe", doc: "REQUIRED: show the directories."},
		{name: "topic-list", arg: requiredArg, hint: "Topic list", doc: "Only these topics, separated by commas."},
		{name: "broker-list", arg: requiredArg, hint: "Broker list", doc: "Only these brokers, ids separated by commas."},
	})
	if done {
		return code
	}
	if err == nil {
		err = requireAll(p, "bootstrap-server", "describe")
	}
	if e.orUsage(p, err) {
		return 1
	}
	if err == nil {
		err = describeLogDirs(e, p)
	}
	if t := (*terse)(nil); errors.As(err, &t) {
		e.errorln(t.msg)
		return 1
	}
	if err != nil {
		e.errorf("%s\n%s\n", err, trace(err))
		return 1
	}
	return 0
}

// What log-dirs prints; the fields are in the order of Kafka's tool.
type (
	logDirsJSON struct {
		Brokers []brokerDirsJSON `json:"brokers"`
		Version int              `json:"version"`
	}
	brokerDirsJSON struct {
		Broker  int32        `json:"broker"`
		LogDirs []logDirJSON `json:"logDirs"`
	}
	logDirJSON struct {
		Partitions []replicaJSON `json:"partitions"`
		Error      *string       `json:"error"`
		LogDir     string        `json:"logDir"`
	}
	replicaJSON struct {
		Partition string `json:"partition"`
		Size      int64  `json:"size"`
		OffsetLag int64  `json:"offsetLag"`
		IsFuture  bool   `json:"isFuture"`
	}
)

func describeLogDirs(e *env, p *parsed) error {
	conf, err := loadConfig(p.str("command-config"))
	if err != nil {
		return err
	}
	conf.fallback("client.id", "log-dirs-tool")
	c, err := e.connect(conf.with(clientConfig{"bootstrap.servers": p.str("bootstrap-server")}))
	if err != nil {
		return err
	}
	defer c.close()
	ids, err := c.brokersNamed(p.str("broker-list"))
	if err = firstError(err, p.err); err != nil {
		return err
	}
	var topics []string
	for t := range strings.SplitSeq(p.str("topic-list"), ",") {
		if t != "" {
			topics = append(topics, t)
		}
	}
	e.println("Querying brokers for log directories information")
	doc := logDirsJSON{Version: 1}
	for _, id := range ids {
		dirs, err := c.logDirs(id, topics)
		if err != nil {
			return asExecution(err)
		}
		doc.Brokers = append(doc.Brokers, brokerDirsJSON{id, dirs})
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	e.printf("Received log directory information from brokers %s\n%s\n", joinIDs(ids, ","), text)
	return nil
}

// brokersNamed checks ids separated by commas; no id stands for all brokers.
func (c *cluster) brokersNamed(list string) ([]int32, error) {
	brokers, err := c.brokers()
	if err != nil {
		return nil, asExecution(err)
	}
	var alive, ids, absent []int32
	for _, b := range brokers {
		alive = append(alive, b.NodeID)
	}
	for s := range strings.SplitSeq(list, ",") {
		if s == "" {
			continue
		}
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, &javaError{class: "java.lang.NumberFormatException", msg: fmt.Sprintf("For input string: %q", s)}
		}
		if slices.Contains(alive, int32(n)) {
			ids = append(ids, int32(n))
		} else {
			absent = append(absent, int32(n))
		}
	}
	if len(absent) > 0 {
		return nil, &terse{fmt.Sprintf("ERROR: The given brokers do not exist from --broker-list: %s. Current existent brokers: %s",
			joinIDs(absent, ","), joinIDs(alive, ","))}
	}
	if len(ids) == 0 {
		return alive, nil
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// logDirs asks one broker for its directories, with the partitions of some topics, or of all if none is named.
func (c *cluster) logDirs(broker int32, topics []string) ([]logDirJSON, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	resp, err := c.cl.Broker(int(broker)).RetriableRequest(ctx, kmsg.NewPtrDescribeLogDirsRequest())
	if err != nil {
		return nil, callError("describeLogDirs", err)
	}
	answer := resp.(*kmsg.DescribeLogDirsResponse)
	if err := coded(answer.ErrorCode, nil); err != nil {
		return nil, err
	}
	var dirs []logDirJSON
	for _, d := range answer.Dirs {
		dir := logDirJSON{LogDir: d.Dir, Partitions: []replicaJSON{}}
		if err := coded(d.ErrorCode, nil); err != nil {
			class := className(err)
			dir.Error = &class
		}
		for _, t := range d.Topics {
			if len(topics) > 0 && !slices.Contains(topics, t.Topic) {
				continue
			}
			for _, part := range t.Partitions {
				dir.Partitions = append(dir.Partitions, replicaJSON{fmt.Sprintf("%s-%d", t.Topic, part.Partition), part.Size, part.OffsetLag, part.IsFuture})
			}
		}
		slices.SortFunc(dir.Partitions, func(a, b replicaJSON) int { return strings.Compare(a.Partition, b.Partition) })
		dirs = append(dirs, dir)
	}
	return dirs, nil
}
