package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// runMetadataQuorum is kafka-metadata-quorum: the state of the controllers' quorum, and changing who is in it.
func runMetadataQuorum(e *env) int {
	ns, err := parseCommand(metadataQuorumCommand(), e.args)
	if err == nil {
		err = metadataQuorumAction(e, ns)
	}
	var bad *argError
	var short *terse
	switch {
	case err == nil:
		return 0
	case errors.As(err, &bad):
		e.complain(bad)
		if bad.help {
			return 0
		}
	case errors.As(err, &short):
		e.errorln(short.msg)
	default:
		e.errorf("%s\n%s\n", err, trace(err))
	}
	return 1
}

func metadataQuorumCommand() command {
	dry := argument{names: []string{"--dry-run"}, flag: true, help: "Only say what would be done."}
	return command{name: "kafka-metadata-quorum", help: "Shows the state of the controllers' quorum and changes who is in it.",
		args: []argument{
			{names: []string{"--command-config"}, help: "Properties file with settings for the connection; for add-controller the file of that controller."},
			{names: []string{"--bootstrap-server"}, group: "bootstrap", oneOf: true, help: "host:port of a broker, or several separated by commas."},
			{names: []string{"--bootstrap-controller"}, group: "bootstrap", oneOf: true, help: "host:port of a controller, or several separated by commas."},
		},
		subs: []command{
			{name: "describe", help: "Show the quorum.", args: []argument{
				{names: []string{"--status"}, flag: true, help: "In short."},
				{names: []string{"--replication"}, flag: true, help: "Node by node."},
				{names: []string{"--human-readable"}, flag: true, help: "With --replication: times as how long ago."}}},
			{name: "add-controller", help: "Make a controller a voter.", args: []argument{dry}},
			{name: "remove-controller", help: "Take a controller's vote away.", args: []argument{
				{names: []string{"--controller-id", "-i"}, number: true, required: true, help: "The controller's id."},
				{names: []string{"--controller-directory-id", "-d"}, required: true, help: "The id of its metadata directory."},
				dry,
				{names: []string{"--unregister"}, flag: true, help: "Also forget the controller."}}},
		}}
}

func metadataQuorumAction(e *env, ns *namespace) error {
	file := ns.str("command-config")
	if file != "" {
		if _, err := os.Stat(file); err != nil {
			return &terse{"Properties file " + file + " does not exist."}
		}
	}
	conf, err := loadConfig(file)
	if err != nil {
		return err
	}
	if ns.command == "add-controller" && file == "" {
		return &terse{"You must supply the configuration file of the controller you are adding when using add-controller."}
	}
	if err := checkQuorumDescribe(ns); err != nil {
		return err
	}
	connection := conf
	if ns.command == "add-controller" { // most of that file is about the server
		connection = clientConfig{}
	}
	c, err := e.connectEither(connection, ns.str("bootstrap-server"), ns.str("bootstrap-controller"))
	if err != nil {
		return err
	}
	defer c.close()
	switch ns.command {
	case "add-controller":
		return addController(e, c, conf, ns.has("dry-run"))
	case "remove-controller":
		return removeController(e, c, ns)
	}
	if ns.has("replication") {
		return describeReplication(e, c, ns.has("human-readable"))
	}
	return describeQuorumStatus(e, c)
}

func checkQuorumDescribe(ns *namespace) error {
	switch {
	case ns.command != "describe":
	case ns.has("status") && ns.has("replication"):
		return &terse{"Only one of --status or --replication should be specified with describe sub-command"}
	case !ns.has("status") && !ns.has("replication"):
		return &terse{"One of --status or --replication must be specified with describe sub-command"}
	case ns.has("status") && ns.has("human-readable"):
		return &terse{"The option --human-readable is only supported along with --replication"}
	}
	return nil
}

// quorumInfo is the answer of DescribeQuorum for the metadata log.
type quorumInfo struct {
	kmsg.DescribeQuorumResponseTopicPartition
	nodes []kmsg.DescribeQuorumResponseNode
}

func (c *cluster) quorum() (quorumInfo, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = "__cluster_metadata"
	t.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}}
	req.Topics = append(req.Topics, t)
	resp, err := request[*kmsg.DescribeQuorumResponse](c, "describeMetadataQuorum", req)
	if err == nil {
		err = coded(resp.ErrorCode, resp.ErrorMessage)
	}
	if err != nil {
		return quorumInfo{}, asExecution(err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return quorumInfo{}, fmt.Errorf("the answer about the quorum has no partition of __cluster_metadata")
	}
	p := resp.Topics[0].Partitions[0]
	return quorumInfo{p, resp.Nodes}, asExecution(coded(p.ErrorCode, p.ErrorMessage))
}

// leader is the state of the leader; false if the answer does not have it among the voters.
func (q quorumInfo) leader() (kmsg.DescribeQuorumResponseTopicPartitionReplicaState, bool) {
	for _, v := range q.CurrentVoters {
		if v.ReplicaID == q.LeaderID {
			return v, true
		}
	}
	return kmsg.DescribeQuorumResponseTopicPartitionReplicaState{}, false
}

func describeQuorumStatus(e *env, c *cluster) error {
	id, err := c.clusterID()
	if err != nil {
		return asExecution(err)
	}
	q, err := c.quorum()
	if err != nil {
		return err
	}
	leader, ok := q.leader()
	if !ok {
		return fmt.Errorf("node %d leads the quorum but is no voter: ask again once the quorum has settled", q.LeaderID)
	}
	slowest := slices.MinFunc(q.CurrentVoters, func(a, b kmsg.DescribeQuorumResponseTopicPartitionReplicaState) int {
		return cmp.Compare(a.LogEndOffset, b.LogEndOffset)
	})
	lagTime := int64(0)
	if slowest.ReplicaID != leader.ReplicaID {
		lagTime = -1
		if leader.LastCaughtUpTimestamp >= 0 && slowest.LastCaughtUpTimestamp >= 0 {
			lagTime = leader.LastCaughtUpTimestamp - slowest.LastCaughtUpTimestamp
		}
	}
	for _, line := range [][2]any{
		{"ClusterId:", id}, {"LeaderId:", q.LeaderID}, {"LeaderEpoch:", q.LeaderEpoch}, {"HighWatermark:", q.HighWatermark},
		{"MaxFollowerLag:", leader.LogEndOffset - slowest.LogEndOffset}, {"MaxFollowerLagTimeMs:", lagTime},
		{"CurrentVoters:", q.replicas(q.CurrentVoters)}, {"CurrentObservers:", q.replicas(q.Observers)},
	} {
		e.printf("%-24v%v\n", line[0], line[1])
	}
	return nil
}

// replicas writes nodes as JSON objects with their directories and endpoints, as far as they are known.
func (q quorumInfo) replicas(all []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) string {
	var nodes []string
	for _, r := range all {
		s := fmt.Sprintf(`{"id": %d`, r.ReplicaID)
		if dir := protocol.UUID(r.ReplicaDirectoryID); !dir.IsZero() {
			s += `, "directoryId": "` + dir.String() + `"`
		}
		var endpoints []string
		for _, n := range q.nodes {
			if n.NodeID == r.ReplicaID {
				for _, l := range n.Listeners {
					endpoints = append(endpoints, `"`+endpoint(l.Name, l.Host, int(l.Port))+`"`)
				}
			}
		}
		if len(endpoints) > 0 {
			s += `, "endpoints": [` + strings.Join(endpoints, ", ") + "]"
		}
		nodes = append(nodes, s+"}")
	}
	return "[" + strings.Join(nodes, ", ") + "]"
}

func endpoint(listener, host string, port int) string {
	return listener + "://" + net.JoinHostPort(host, strconv.Itoa(port))
}

func describeReplication(e *env, c *cluster, human bool) error {
	q, err := c.quorum()
	if err != nil {
		return err
	}
	leader, ok := q.leader()
	if !ok {
		return fmt.Errorf("node %d leads the quorum but is no voter: ask again once the quorum has settled", q.LeaderID)
	}
	rows := [][]string{{"NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"}}
	add := func(r kmsg.DescribeQuorumResponseTopicPartitionReplicaState, status string) {
		rows = append(rows, []string{strconv.Itoa(int(r.ReplicaID)), protocol.UUID(r.ReplicaDirectoryID).String(),
			strconv.FormatInt(r.LogEndOffset, 10), strconv.FormatInt(leader.LogEndOffset-r.LogEndOffset, 10),
			ago(r.LastFetchTimestamp, human), ago(r.LastCaughtUpTimestamp, human), status})
	}
	add(leader, "Leader")
	for _, v := range q.CurrentVoters {
		if v.ReplicaID != leader.ReplicaID {
			add(v, "Follower")
		}
	}
	for _, o := range q.Observers {
		add(o, "Observer")
	}
	printTable(e, rows)
	return nil
}

// ago writes a timestamp, or how long ago it is; -1 is none.
func ago(ms int64, human bool) string {
	if ms < 0 || !human {
		return strconv.FormatInt(ms, 10)
	}
	return fmt.Sprintf("%d ms ago", max(0, time.Now().UnixMilli()-ms))
}

// printTable prints rows of equally many cells in columns that end with tabs.
func printTable(e *env, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			e.printf("%-*s\t", widths[i], cell)
		}
		e.println()
	}
}

// addController makes the controller that the properties file is of a voter. Its directory has to be formatted.
func addController(e *env, c *cluster, conf clientConfig, dryRun bool) error {
	id, err := strconv.ParseInt(conf["node.id"], 10, 32)
	switch {
	case conf["node.id"] == "":
		return &terse{"node.id not found in configuration file. Is this a valid controller configuration file?"}
	case err != nil || id < 0:
		return &terse{"node.id was negative in configuration file. Is this a valid controller configuration file?"}
	case !strings.Contains(conf["process.roles"], "controller"):
		return &terse{"process.roles did not contain 'controller' in configuration file. Is this a valid controller configuration file?"}
	}
	dir := conf["metadata.log.dir"]
	if dir == "" {
		dir, _, _ = strings.Cut(strings.TrimSpace(conf["log.dirs"]), ",")
	}
	if dir == "" {
		return &terse{"Neither metadata.log.dir nor log.dirs were found. Is this a valid controller configuration file?"}
	}
	meta, err := storage.ReadMetaProperties(vfs.OS(), dir)
	if err != nil {
		return &terse{"Unable to read meta.properties from " + dir}
	}
	if meta.DirectoryID.IsZero() {
		return &terse{"No directory id found in " + dir}
	}
	req := kmsg.NewPtrAddRaftVoterRequest()
	req.VoterID, req.VoterDirectoryID, req.TimeoutMillis = int32(id), meta.DirectoryID, int32(c.timeout.Milliseconds())
	if req.Listeners, err = controllerListeners(conf); err != nil {
		return err
	}
	var endpoints []string
	for _, l := range req.Listeners {
		endpoints = append(endpoints, endpoint(l.Name, l.Host, int(l.Port)))
	}
	done := "DRY RUN of adding"
	if !dryRun {
		done = "Added"
		resp, err := request[*kmsg.AddRaftVoterResponse](c, "addRaftVoter", req)
		if err == nil {
			err = coded(resp.ErrorCode, resp.ErrorMessage)
		}
		if err != nil {
			return asExecution(err)
		}
	}
	e.printf("%s controller %d with directory id %s and endpoints: %s\n", done, id, meta.DirectoryID, strings.Join(endpoints, ", "))
	return nil
}

// controllerListeners are the addresses that the file gives its controller listeners, the advertised ones first.
func controllerListeners(conf clientConfig) ([]kmsg.AddRaftVoterRequestListener, error) {
	byName := map[string]kmsg.AddRaftVoterRequestListener{}
	for _, key := range []string{"listeners", "advertised.listeners"} {
		for entry := range strings.SplitSeq(conf[key], ",") {
			name, address, ok := strings.Cut(strings.TrimSpace(entry), "://")
			host, port, err := net.SplitHostPort(address)
			n, perr := strconv.ParseUint(port, 10, 16)
			if !ok || err != nil || perr != nil {
				continue
			}
			l := kmsg.NewAddRaftVoterRequestListener()
			l.Name, l.Host, l.Port = strings.ToUpper(name), cmp.Or(host, "localhost"), uint16(n)
			byName[l.Name] = l
		}
	}
	if conf["controller.listener.names"] == "" {
		return nil, &terse{"controller.listener.names was not found. Is this a valid controller configuration file?"}
	}
	var listeners []kmsg.AddRaftVoterRequestListener
	for name := range strings.SplitSeq(conf["controller.listener.names"], ",") {
		name = strings.ToUpper(strings.TrimSpace(name))
		l, ok := byName[name]
		if !ok {
			return nil, &terse{"Cannot find information about controller listener name: " + name}
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

func removeController(e *env, c *cluster, ns *namespace) error {
	id, dryRun := ns.int("controller-id"), ns.has("dry-run")
	if id < 0 {
		return &terse{fmt.Sprintf("Invalid negative --controller-id: %d", id)}
	}
	dir, err := parseTopicID(ns.str("controller-directory-id"))
	if err != nil {
		return &terse{"Failed to parse --controller-directory-id: " + err.Error()}
	}
	prefix := map[bool][2]string{true: {"DRY RUN of removing ", "DRY RUN of unregistering "}, false: {"Removed ", "Unregistered "}}[dryRun]
	hint := fmt.Sprintf("To unregister the controller from the cluster, run `kafka-cluster.sh unregister-controller --id %d`.", id)
	if !dryRun {
		req := kmsg.NewPtrRemoveRaftVoterRequest()
		req.VoterID, req.VoterDirectoryID = int32(id), dir
		resp, err := request[*kmsg.RemoveRaftVoterResponse](c, "removeRaftVoter", req)
		if err == nil {
			err = coded(resp.ErrorCode, resp.ErrorMessage)
		}
		if code := codeOf(err); ns.has("unregister") && (code == protocol.VoterNotFound || code == protocol.UnsupportedVersion || unsupported(err)) {
			return &terse{fmt.Sprintf("Failed to remove KRaft voter %d: %s. %s", id, err, hint)}
		}
		if err != nil {
			return asExecution(err)
		}
	}
	e.printf("%sKRaft controller %d with directory id %s\n", prefix[0], id, dir)
	if !ns.has("unregister") {
		return nil
	}
	if !dryRun {
		if err := c.unregisterController(int32(id)); err != nil {
			return &terse{fmt.Sprintf("Failed to unregister controller %d: %s. %s", id, err, hint)}
		}
	}
	e.printf("%sKRaft controller %d\n", prefix[1], id)
	return nil
}
