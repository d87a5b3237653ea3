package ottla

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/broker"
	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/broker/lifecycle"
	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/groupcoord"
	"github.com/ottla/ottla/groupcoord/group/consumer"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/metadata/loader"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/quorum"
	"github.com/ottla/ottla/replication"
	"github.com/ottla/ottla/storage"
	"github.com/ottla/ottla/txncoord"
)

// node is the subsystems of a combined broker and controller. They are made by
// newNode, started by start, and stopped in the opposite order of stops.
type node struct {
	o         Options
	log       *zap.Logger
	fault     func(error)
	files     vfs.FS
	clusterID string
	settings  *settings

	storage      *storage.Manager
	metadataLog  *storage.Log
	loader       *loader.Loader
	controller   *controller.Service
	quorum       *quorum.Node
	partitions   *replication.Manager
	groups       *groupcoord.Service
	producerIDs  *txncoord.ProducerIDs
	transactions *txncoord.Service
	verifier     *txncoord.Verifier
	assignments  *lifecycle.Assignments
	life         atomic.Pointer[lifecycle.Broker] // nil before register
	requests     *api.Deps                        // what requests are answered with, from clients and from this node
	server       *broker.Server

	stops []func(context.Context) error
}

// onStop adds a step to what stop does, before the earlier ones.
func (n *node) onStop(f func(context.Context) error) { n.stops = append(n.stops, f) }

// newNode finds out who this node is. It opens nothing.
func newNode(o Options, fault func(error)) (*node, error) {
	n := &node{o: o, log: o.Logger, fault: fault, files: vfs.OS(), settings: newSettings(o.Config)}
	if o.Memory {
		n.files = vfs.NewMem()
	}
	id, fresh, err := identify(n.files, o.Config)
	if err != nil {
		return nil, err
	}
	n.clusterID = id
	n.settings.changed = n.reconfigure
	switch {
	case o.Memory:
		n.log.Info("Everything is kept in memory and gone at the end; nothing is written to log.dirs")
	case fresh:
		n.log.Info("Formatting new log directories", zap.Strings("log.dirs", o.Config.LogDirs), zap.String("cluster", id))
	}
	return n, nil
}

// reconfigure applies dynamic broker settings that something made at start took a copy of.
func (n *node) reconfigure(v config.Values) {
	n.server.SetLimits(connectionLimits(v, n.log))
}

// start brings the subsystems up in the order in which they need each other: the
// directories, the metadata in them, the quorum, the registration, the partitions, the clients.
func (n *node) start(ctx context.Context) error {
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"log directories", n.openStorage},
		{"listeners", n.listen},
		{"metadata log", n.openMetadata},
		{"controller", n.startController},
		{"registration", n.register},
		{"partitions", n.publish},
		{"broker", n.serve},
	} {
		began := time.Now()
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		n.log.Debug("Started", zap.String("step", step.name), zap.Duration("took", time.Since(began)))
	}
	return nil
}

func (n *node) openStorage(context.Context) error {
	v := n.settings.broker()
	o := storageOptions(v)
	o.ClusterID, o.NodeID, o.Logger = n.clusterID, n.o.Config.NodeID, n.log.Named("storage")
	o.OnDirFailure = n.dirFailed
	m, err := storage.Open(n.files, n.o.Config.LogDirs, o)
	if err != nil {
		return err
	}
	n.storage = m
	n.onStop(func(ctx context.Context) error { return n.storage.Close(ctx, n.brokerEpoch()) })
	return nil
}

// dirFailed is told of a log directory that went offline. With the last one the node ends.
func (n *node) dirFailed(d storage.DirState) {
	n.log.Error("A log directory has failed and is offline", zap.String("directory", d.Path), zap.Error(d.Err))
	n.partitions.DirFailed(d.ID, d.Err)
	if l := n.life.Load(); l != nil {
		l.Kick()
	}
	if !slices.ContainsFunc(n.storage.Dirs(), func(d storage.DirState) bool { return d.Err == nil }) {
		n.fault(fmt.Errorf("all log directories have failed, the last one was %s: %w", d.Path, d.Err))
	}
	if d.Path == n.o.Config.MetadataLogDir {
		n.fault(fmt.Errorf("the directory of the metadata log has failed: %w", d.Err))
	}
}

func (n *node) brokerEpoch() int64 {
	if l := n.life.Load(); l != nil {
		return l.Epoch()
	}
	return -1
}

// makeBroker makes what serves requests. It does nothing before there is metadata.
func (n *node) makeBroker() {
	n.loader = loader.New(loader.Options{Fault: n.fault, Logger: n.log.Named("metadata")})
	n.groups = groupcoord.New(groupcoord.Options{
		Config: n.settings.group, Partitions: n.offsetsPartitions, Log: n.offsetsLog, Logger: n.log.Named("groups"),
		ConsumerConfig: func(overrides map[string]string) consumer.Config {
			return groupcoord.ConsumerConfigOf(n.settings.current(), overrides)
		},
		Metadata: n.loader.Current, Verify: n.verifyOffsets,
	})
	n.onStop(func(context.Context) error { n.groups.Close(); return nil })
	n.producerIDs = txncoord.NewProducerIDs(txncoord.ProducerIDOptions{
		NodeID: n.o.Config.NodeID, BrokerEpoch: n.brokerEpoch, Allocate: n.allocateProducerIDs, Logger: n.log.Named("producer ids"),
	})
	n.onStop(func(context.Context) error { n.producerIDs.Close(); return nil })
	n.makeTransactions()
	n.assignments = lifecycle.NewAssignments(n.o.Config.NodeID, n.brokerEpoch, n.askController, n.log.Named("broker"))
	n.partitions = replication.New(replication.Options{
		NodeID: n.o.Config.NodeID, Storage: n.storage, LogConfig: n.settings.topic, OnLeadership: n.leadership, Logger: n.log.Named("partitions"),
		OnPlaced: func(p *replication.Partition, dir protocol.UUID) {
			n.assignments.Placed(lifecycle.Replica{TopicID: p.TopicID(), Partition: p.TopicPartition().Partition}, dir)
		},
	})
	n.onStop(func(context.Context) error { n.partitions.Close(); return nil })
	n.onStop(func(context.Context) error { n.loader.Close(); return nil })
}

// listen binds all listeners, so that their ports are known; nothing is accepted yet.
func (n *node) listen(ctx context.Context) error {
	n.makeBroker()
	n.requests = n.deps()
	n.server = broker.New(n.brokerOptions())
	if err := n.server.Listen(ctx); err != nil {
		return err
	}
	n.onStop(func(context.Context) error { n.server.Close(); return nil })
	return nil
}

// register makes the broker known and starts its heartbeats. It is fenced until
// the partitions are there.
func (n *node) register(ctx context.Context) error {
	if err := n.loader.Await(ctx, n.committed()); err != nil {
		return err
	}
	v := n.settings.broker()
	life := lifecycle.New(lifecycle.Options{
		NodeID: n.o.Config.NodeID, ClusterID: n.clusterID, Incarnation: protocol.NewUUID(),
		Listeners: n.advertised(false), Features: n.registeredFeatures(n.loader.Current()), Rack: v.String("broker.rack"),
		LogDirs: n.dirIDs(), PreviousEpoch: n.storage.LoadedCleanEpoch(), Do: n.askController,
		MetadataOffset:    func() int64 { return n.loader.Current().Offset },
		OfflineDirs:       n.offlineDirs,
		HeartbeatInterval: time.Duration(v.Int("broker.heartbeat.interval.ms")) * time.Millisecond,
		SessionTimeout:    time.Duration(v.Int("broker.session.timeout.ms")) * time.Millisecond,
		Logger:            n.log.Named("broker"),
	})
	n.life.Store(life)
	n.onStop(func(context.Context) error { life.Close(); return nil })
	if _, err := life.Register(ctx); err != nil {
		return err
	}
	n.assignments.Start()
	n.onStop(func(context.Context) error { n.assignments.Close(); return nil })
	return nil
}

func (n *node) dirIDs() []protocol.UUID {
	var ids []protocol.UUID
	for _, d := range n.storage.Dirs() {
		if !d.ID.IsZero() && d.Err == nil {
			ids = append(ids, d.ID)
		}
	}
	slices.SortFunc(ids, func(a, b protocol.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

func (n *node) offlineDirs() []protocol.UUID {
	var ids []protocol.UUID
	for _, d := range n.storage.Dirs() {
		if d.Err != nil && !d.ID.IsZero() {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// publish loads the partitions against the metadata and lets them follow it.
func (n *node) publish(ctx context.Context) error {
	if err := n.loader.Start(n.settings, n.partitions, groupsPublisher{n}); err != nil {
		return err
	}
	if err := n.loader.Await(ctx, n.brokerEpoch()); err != nil {
		return err
	}
	life := n.life.Load()
	life.Start()
	return life.AwaitUnfenced(ctx)
}

// serve waits for the metadata in which this broker leads its partitions, then accepts clients.
func (n *node) serve(ctx context.Context) error {
	if err := n.loader.Await(ctx, n.committed()); err != nil {
		return err
	}
	n.nameUnserved()
	n.server.Serve(protocol.ScopeController)
	n.server.Serve(protocol.ScopeBroker)
	n.onStop(n.server.Shutdown) // clients first
	return nil
}

// committed is the offset of the last committed record of the metadata log.
func (n *node) committed() int64 { return n.quorum.Status().HighWatermark - 1 }

// leave asks the controller to let this broker go.
func (n *node) leave(ctx context.Context) {
	life := n.life.Load()
	if life == nil || life.State() != lifecycle.Running {
		return
	}
	limit := time.Duration(n.settings.broker().Int("broker.session.timeout.ms")) * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := life.Shutdown(ctx); err != nil {
		n.log.Warn("Stopping without the controller's consent", zap.Error(err))
	}
}

// stop takes down what was started, the last first. It always runs every step.
func (n *node) stop(ctx context.Context) error {
	var errs []error
	for i := len(n.stops) - 1; i >= 0; i-- {
		errs = append(errs, n.stops[i](ctx))
	}
	n.stops = nil
	return errors.Join(errs...)
}

func (n *node) addr(listener string) string {
	l := n.o.Config.Listener(listener)
	if l == nil || n.server == nil {
		return ""
	}
	host := l.Host
	if host == "" {
		host = "localhost"
	}
	return net.JoinHostPort(host, strconv.Itoa(n.server.Port(listener)))
}

// askController sends a request of this broker's own to the active controller.
func (n *node) askController(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return n.controller.Do(ctx, controller.Request{Principal: api.Anonymous}, req)
}

// forward sends a client's request to the active controller.
func (n *node) forward(ctx context.Context, c *api.Call, req kmsg.Request) (kmsg.Response, int64, error) {
	resp, err := n.controller.Do(ctx, controller.Request{Principal: c.Conn.Principal}, req)
	if err != nil {
		return nil, -1, err
	}
	return resp, n.committed(), nil
}

func (n *node) allocateProducerIDs(ctx context.Context, req *kmsg.AllocateProducerIDsRequest) (*kmsg.AllocateProducerIDsResponse, error) {
	resp, err := n.askController(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.AllocateProducerIDsResponse), nil
}

func (n *node) activeController() int32 {
	id, _ := n.quorum.Leader()
	return id
}

var _ metadata.Publisher = groupsPublisher{}
