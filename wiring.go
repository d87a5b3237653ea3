package ottla

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/broker"
	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/quorum"
	"github.com/ottla/ottla/storage"
)

// supported are the features that are built, beside metadata.version and
// kraft.version: none of them asks for something that this version lacks.
func supported() []metadata.VersionRange {
	return []metadata.VersionRange{
		{Feature: "eligible.leader.replicas.version", Min: 0, Max: 1},
		{Feature: "group.version", Min: 0, Max: 1},
		{Feature: "share.version", Min: 0, Max: 0},
		{Feature: "streams.version", Min: 0, Max: 0},
		{Feature: "transaction.version", Min: 0, Max: 2},
	}
}

// features are all features this node announces.
func (n *node) features() []metadata.VersionRange {
	return append(supported(), metadata.SupportedMetadataVersion(), metadata.SupportedKRaftVersion())
}

func storageOptions(v config.Values) storage.Options {
	ms := func(key string) time.Duration { return millis(v.Long(key)) }
	o := storage.DefaultOptions()
	o.RecoveryThreadsPerDir = int(v.Int("num.recovery.threads.per.data.dir"))
	o.RetentionCheckInterval = ms("log.retention.check.interval.ms")
	if f := v.Long("log.flush.scheduler.interval.ms"); f < 1<<53 { // the default is never
		o.FlushCheckInterval = millis(f)
	}
	o.RecoveryPointCheckpointInterval = ms("log.flush.offset.checkpoint.interval.ms")
	o.LogStartCheckpointInterval = ms("log.flush.start.offset.checkpoint.interval.ms")
	o.HighWatermarkCheckpointInterval = ms("replica.high.watermark.checkpoint.interval.ms")
	o.FileDeleteDelay = ms("log.segment.delete.delay.ms")
	o.InitialTaskDelay = ms("log.initial.task.delay.ms")
	o.ProducerIDExpires = ms("producer.id.expiration.ms")
	o.ProducerExpiryCheckInterval = ms("producer.id.expiration.check.interval.ms")
	o.Cleaner = cleanerOptions(v)
	return o
}

func cleanerOptions(v config.Values) storage.CleanerOptions {
	o := storage.CleanerOptions{
		Threads:             int(v.Int("log.cleaner.threads")),
		DedupeBufferBytes:   v.Long("log.cleaner.dedupe.buffer.size"),
		IOBufferBytes:       int(v.Int("log.cleaner.io.buffer.size")),
		LoadFactor:          v.Double("log.cleaner.io.buffer.load.factor"),
		IOMaxBytesPerSecond: v.Double("log.cleaner.io.max.bytes.per.second"),
		Backoff:             millis(v.Long("log.cleaner.backoff.ms")),
	}
	if !v.Bool("log.cleaner.enable") {
		o.Threads = 0
	}
	return o
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func (n *node) controllerOptions(dir string) controller.Options {
	v := n.settings.broker()
	o := controller.Options{
		NodeID: n.o.Config.NodeID, ClusterID: n.clusterID, Static: n.o.Config, Loader: n.loader,
		Supported: supported(), Bootstrap: n.loader.Bootstrap(), Fault: n.fault, Logger: n.log.Named("controller"),
	}
	if !n.o.Memory {
		o.Snapshots = &controller.SnapshotOptions{
			FS: n.files, Dir: dir,
			BytesBetween:  v.Long("metadata.log.max.record.bytes.between.snapshots"),
			TimeBetween:   millis(v.Long("metadata.log.max.snapshot.interval.ms")),
			RetentionSize: v.Long("metadata.max.retention.bytes"),
			RetentionTime: millis(v.Long("metadata.max.retention.ms")),
			DeleteBefore: func(offset int64) error {
				_, err := n.metadataLog.DeleteRecordsBefore(offset)
				return err
			},
		}
	}
	return o
}

// voter is this controller as the voter set shows it: its directory is that of the metadata log.
func (n *node) voter() quorum.Voter {
	v := quorum.Voter{ID: n.o.Config.NodeID}
	for _, d := range n.storage.Dirs() {
		if d.Path == n.o.Config.MetadataLogDir {
			v.DirectoryID = d.ID
		}
	}
	for _, e := range n.advertised(true) {
		v.Endpoints = append(v.Endpoints, quorum.Endpoint{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	return v
}

// advertised are the endpoints that others are told of: the controller's or the broker's.
func (n *node) advertised(controllers bool) []metadata.Endpoint {
	var out []metadata.Endpoint
	for _, l := range n.o.Config.Listeners {
		if l.Controller != controllers || !l.Advertised {
			continue
		}
		e := metadata.Endpoint{Name: l.Name, Host: l.AdvertisedHost, Port: uint16(l.AdvertisedPort)}
		if e.Host == "" {
			e.Host = hostName()
		}
		if e.Port == 0 && n.server != nil {
			e.Port = uint16(n.server.Port(l.Name))
		}
		e.Protocol = securityProtocols[l.SecurityProtocol]
		out = append(out, e)
	}
	return out
}

var securityProtocols = map[string]metadata.SecurityProtocol{
	"PLAINTEXT": metadata.Plaintext, "SSL": metadata.SSL, "SASL_PLAINTEXT": metadata.SASLPlaintext, "SASL_SSL": metadata.SASLSSL,
}

func hostName() string {
	h, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return h
}

func (n *node) brokerOptions() broker.Options {
	v := n.settings.broker()
	o := broker.Options{
		Logger:                n.log.Named("network"),
		Rows:                  api.Table(n.requests),
		MaxRequestBytes:       int(v.Int("socket.request.max.bytes")),
		QueuedRequestBytesMax: v.Long("queued.max.request.bytes"),
		IdleTimeout:           millis(v.Long("connections.max.idle.ms")),
		Limits:                connectionLimits(v, n.log),
		SendBufferBytes:       int(v.Int("socket.send.buffer.bytes")),
		ReceiveBufferBytes:    int(v.Int("socket.receive.buffer.bytes")),
	}
	for _, l := range n.o.Config.Listeners {
		scope := protocol.ScopeBroker
		if l.Controller {
			scope = protocol.ScopeController
		}
		most := 0
		if text, ok := v.OfListener(l.Name, "max.connections"); ok {
			most, _ = strconv.Atoi(text) // checked by config
		}
		o.Listeners = append(o.Listeners, broker.Listener{Name: l.Name, Scope: scope, Host: l.Host, Port: l.Port, MaxConnections: most})
	}
	return o
}

// connectionLimits are how many connections there may be. Host names of overrides are looked up now, as Kafka does.
func connectionLimits(v config.Values, log *zap.Logger) broker.Limits {
	limits := broker.Limits{
		Connections: int(v.Int("max.connections")), PerIP: int(v.Int("max.connections.per.ip")), Overrides: map[netip.Addr]int{},
	}
	overrides, err := config.ParseConnectionOverrides(v.String("max.connections.per.ip.overrides"))
	if err != nil {
		log.Warn("Overrides of connections per address are ignored", zap.Error(err))
	}
	for host, count := range overrides {
		ips, err := net.LookupIP(host)
		if err != nil {
			log.Warn("No address for a host of max.connections.per.ip.overrides", zap.String("host", host), zap.Error(err))
		}
		for _, ip := range ips {
			if a, ok := netip.AddrFromSlice(ip); ok {
				limits.Overrides[a.Unmap()] = int(count)
			}
		}
	}
	return limits
}

func (n *node) deps() *api.Deps {
	return &api.Deps{
		NodeID: n.o.Config.NodeID, ClusterID: n.clusterID, Log: n.log.Named("api"), LogLevel: n.o.LogLevel,
		Features:         n.features(),
		Metadata:         n.loader.Current,
		AwaitMetadata:    n.loader.Await,
		Config:           n.settings.current,
		ActiveController: n.activeController,
		Controller:       n.forward,
		Partitions:       n.partitions,
		LogDirs:          n.storage,
		VolumeSize:       n.volumeSize,
		Groups:           n.groups,
		ProducerIDs:      n.producerIDs,
		Transactions:     n.transactions,
		Verifier:         n.verifier,
	}
}

// volumeSize is the size and free space of the volume a log directory is on, -1 where that is not known.
func (n *node) volumeSize(dir string) (total, usable int64) {
	if n.o.Memory {
		return -1, -1
	}
	return vfs.DiskSpace(dir)
}
