package storage

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/ottla/ottla/protocol"
)

// Names of files in a partition's directory. N.suffix, N the 20-digit offset.
const (
	logSuffix      = ".log"
	indexSuffix    = ".index"
	timeSuffix     = ".timeindex"
	txnSuffix      = ".txnindex"
	snapshotSuffix = ".snapshot"

	deletedSuffix = ".deleted"
	cleanedSuffix = ".cleaned"
	swapSuffix    = ".swap"

	epochFile             = "leader-epoch-checkpoint"
	partitionMetadataFile = "partition.metadata"
)

// Names of files and directories in a log directory.
const (
	lockFile             = ".lock"
	metaPropertiesFile   = "meta.properties"
	cleanShutdownFile    = ".kafka_cleanshutdown"
	recoveryPointFile    = "recovery-point-offset-checkpoint"
	logStartFile         = "log-start-offset-checkpoint"
	highWatermarkFile    = "replication-offset-checkpoint"
	cleanerFile          = "cleaner-offset-checkpoint"
	remoteIndexCacheDir  = "remote-log-index-cache"
	clusterMetadataTopic = "__cluster_metadata"

	tmpSuffix = ".tmp"
)

// segmentFiles are the suffixes of one segment's files.
var segmentFiles = [...]string{logSuffix, indexSuffix, timeSuffix, txnSuffix}

// offsetName is the name of a segment file or snapshot.
func offsetName(offset int64, suffix string) string {
	var digits [20]byte
	s := strconv.AppendInt(digits[:0], offset, 10)
	const zeros = "00000000000000000000"
	return zeros[:max(0, len(zeros)-len(s))] + string(s) + suffix
}

// parseOffsetName splits N.suffix; what follows the digits is the suffix.
func parseOffsetName(name string) (offset int64, suffix string, ok bool) {
	dot := strings.IndexByte(name, '.')
	if dot <= 0 {
		return 0, "", false
	}
	offset, err := strconv.ParseInt(name[:dot], 10, 64)
	if err != nil || offset < 0 || name[0] == '+' || name[0] == '-' {
		return 0, "", false
	}
	return offset, name[dot:], true
}

// dirKind is what a partition directory's name says it is.
type dirKind string

const (
	dirCurrent dirKind = ""
	dirDeleted dirKind = "delete"
	dirFuture  dirKind = "future"
	dirStray   dirKind = "stray"
)

// nameMax is how long a directory's name may be.
const nameMax = 255

// parseDirName reads <topic>-<partition>[.<hex>-<kind>].
func parseDirName(name string) (protocol.TopicPartition, dirKind, error) {
	kind := dirCurrent
	base := name
	for _, k := range []dirKind{dirDeleted, dirFuture, dirStray} {
		if rest, ok := strings.CutSuffix(name, "-"+string(k)); ok {
			dot := strings.LastIndexByte(rest, '.')
			if dot <= 0 || dot == len(rest)-1 {
				break
			}
			base, kind = rest[:dot], k
		}
	}
	tp, err := protocol.ParseTopicPartition(base)
	if err != nil {
		return tp, kind, fmt.Errorf("directory %q is neither a partition's nor one of the names a log directory may hold: %w", name, err)
	}
	return tp, kind, nil
}

// markedDirName is the name a partition's directory gets when it is set aside.
func markedDirName(tp protocol.TopicPartition, kind dirKind) string {
	id := protocol.NewUUID()
	tail := "-" + strconv.Itoa(int(tp.Partition)) + "." + hex.EncodeToString(id[:]) + "-" + string(kind)
	topic := tp.Topic
	if kind != dirFuture && len(topic)+len(tail) > nameMax {
		topic = topic[:nameMax-len(tail)]
	}
	return topic + tail
}
