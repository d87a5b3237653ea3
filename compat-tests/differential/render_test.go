//go:build compat

package differential

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// line is one field of an answer.
type line struct {
	path, value string
	message     bool // a text for people
}

// masks gives what differs by nature the same name on both sides.
type masks struct {
	mu    sync.Mutex
	names map[string]string // value -> name
	count map[string]int
	all   bool   // only what is of this run
	at    string // where the walk is, indices left out
}

func newMasks() *masks { return &masks{names: map[string]string{}, count: map[string]int{}} }

// call names a value: the n-th of its kind, or what the script called it.
func (m *masks) call(kind, value string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.names[value]; ok {
		return n
	}
	m.count[kind]++
	n := fmt.Sprintf("<%s %d>", kind, m.count[kind])
	m.names[value] = n
	return n
}

func (m *masks) set(value, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names[value] = "<" + name + ">"
}

// hidden are fields whose value says nothing: only whether it is set is compared.
var hidden = map[string]bool{
	"Host": true, "Port": true, "ClusterID": true, "LogAppendTime": true, "SessionID": true, "LastTimestamp": true,
	"ProducerID": true, "LastFetchTimestamp": true, "LastCaughtUpTimestamp": true, "TotalBytes": true, "UsableBytes": true,
	"Dir": true, "LogDir": true, "ReplicaDirectoryID": true, "FinalizedFeaturesEpoch": true, "HighWatermarkQuorum": true,
	"Documentation": true, "LogEndOffset": true,
}

// unordered are arrays whose order Kafka takes from a hash map, or that say nothing by it.
var unordered = paths(`
	Metadata.Topics DescribeConfigs.Resources[].Configs ApiVersions.SupportedFeatures ApiVersions.FinalizedFeatures
	CreateTopics.Topics DeleteTopics.Topics CreatePartitions.Topics DeleteRecords.Topics DeleteRecords.Topics[].Partitions
	Produce.Topics Produce.Topics[].Partitions Fetch.Topics Fetch.Topics[].Partitions
	ListOffsets.Topics ListOffsets.Topics[].Partitions OffsetForLeaderEpoch.Topics OffsetForLeaderEpoch.Topics[].Partitions
	ElectLeaders.Topics ListConfigResources.ConfigResources DescribeLogDirs.Dirs[].Topics DescribeLogDirs.Dirs[].Topics[].Partitions
	ListGroups.Groups DescribeGroups.Groups DescribeGroups.Groups[].Members DeleteGroups.Groups JoinGroup.Members
	OffsetFetch.Topics OffsetFetch.Topics[].Partitions OffsetFetch.Groups[].Topics OffsetFetch.Groups[].Topics[].Partitions`)

// everything are lists that also show what other scripts and runs have made, when all is asked for.
var everything = paths(`
	Metadata.Topics ElectLeaders.Topics ListGroups.Groups ListConfigResources.ConfigResources DescribeLogDirs.Dirs[].Topics`)

func paths(list string) map[string]bool {
	out := map[string]bool{}
	for _, p := range strings.Fields(list) {
		out[p] = true
	}
	return out
}

// render lists the fields of a response; the answers to requests for everything ("all ...") only as far as
// they are about this run.
func (m *masks) render(s *side, label string, resp kmsg.Response) []line {
	var out []line
	if r, ok := resp.(*kmsg.ApiVersionsResponse); ok { // windows are noted one by one
		r.ApiKeys = nil
	}
	m.at = ""
	m.all = strings.HasPrefix(label, "all ")
	m.walk(s, apiName(resp.Key()), "", reflect.ValueOf(resp).Elem(), &out)
	return out
}

func (m *masks) walk(s *side, path, field string, v reflect.Value, out *[]line) {
	add := func(value string) { *out = append(*out, line{path, value, field == "ErrorMessage"}) }
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			add("null")
			return
		}
		m.walk(s, path, field, v.Elem(), out)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch {
			case f.Name == "Version" && v.Field(i).Kind() == reflect.Int16 && !strings.Contains(path, "."):
			case f.Name == "UnknownTags":
				if n := v.Field(i).FieldByName("keys"); n.IsValid() && n.Len() > 0 {
					*out = append(*out, line{path + ".UnknownTags", fmt.Sprint(n.Len()), false})
				}
			default:
				m.walk(s, path+"."+f.Name, f.Name, v.Field(i), out)
			}
		}
	case reflect.Slice:
		m.slice(s, path, field, v, out)
	case reflect.Array: // an id
		switch hex := fmt.Sprintf("%x", v.Interface()); {
		case v.IsZero():
			add("zero id")
		case strings.HasSuffix(hex, "0000000000000000"): // a script's own
			add(hex)
		case m.all:
			add("<set>")
		default:
			add(m.call("id", hex))
		}
	case reflect.String:
		add(m.text(field, v.String()))
	case reflect.Uint16:
		add("<set>") // ports
	case reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		if (hidden[field] || strings.HasPrefix(m.at, "DescribeQuorum.") && (field == "LeaderEpoch" || field == "HighWatermark")) && (v.Int() > 0 || v.Int() == 0 && field == "ProducerID") {
			add("<set>")
		} else {
			add(fmt.Sprint(v.Int()))
		}
	default:
		add(fmt.Sprint(v.Interface()))
	}
}

func (m *masks) text(field, v string) string {
	switch {
	case v == "":
		return `""`
	case hidden[field]:
		return "<set>"
	case (field == "MemberID" || field == "LeaderID" || field == "Leader") && len(v) > 36:
		return m.call("member", v)
	}
	return fmt.Sprintf("%q", strings.ReplaceAll(v, suffix, "RUN"))
}

func (m *masks) slice(s *side, path, field string, v reflect.Value, out *[]line) {
	if v.IsNil() {
		*out = append(*out, line{path, "null", false})
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b := v.Bytes()
		if strings.HasSuffix(path, "RecordBatches") {
			*out = append(*out, line{path, batches(b), false})
			return
		}
		*out = append(*out, line{path, fmt.Sprintf("%d bytes %.200q", len(b), b), false})
		return
	}
	type item struct {
		key   string
		lines []line
	}
	var items []item
	before, where := m.at, m.at+path
	m.at = where + "[]"
	for i := range v.Len() {
		var sub []line
		m.walk(s, "", field, v.Index(i), &sub)
		if m.all && foreign(where, sub) {
			continue
		}
		var key []string
		for _, l := range sub {
			key = append(key, l.path+"="+l.value)
		}
		items = append(items, item{strings.Join(key, "|"), sub})
	}
	m.at = before
	byKey := unordered[where]
	if byKey {
		sort.SliceStable(items, func(i, j int) bool { return items[i].key < items[j].key })
	}
	*out = append(*out, line{path + ".length", fmt.Sprint(len(items)), false})
	used := map[string]bool{}
	for i, it := range items {
		at := fmt.Sprint(i)
		if byKey {
			at = nameOf(it.lines, at)
		}
		if used[at] {
			at += fmt.Sprintf("#%d", i)
		}
		used[at] = true
		for _, l := range it.lines {
			*out = append(*out, line{path + "[" + at + "]" + l.path, l.value, l.message})
		}
	}
}

// nameOf is what an element of an unordered array is called.
func nameOf(lines []line, other string) string {
	for _, l := range lines {
		switch l.path {
		case ".TopicID":
			if l.value != "zero id" {
				return l.value
			}
		case ".Name", ".Topic", ".ResourceName", ".Group", ".Partition":
			if l.value != "null" && l.value != `""` {
				return l.value
			}
		}
	}
	return other
}

// foreign says whether an element of a list of everything belongs to another script or run.
func foreign(path string, lines []line) bool {
	if !everything[path] {
		return false
	}
	for _, l := range lines {
		if strings.Contains(l.value, "RUN") || strings.HasPrefix(l.value, "<id of ") {
			return false
		}
	}
	return true
}
