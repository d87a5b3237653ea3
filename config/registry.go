package config

import (
	"slices"
	"strings"
	"sync"
)

// areas are the tables of all scopes. Broker keys are split by what they govern.
var (
	brokerAreas = [...][]Key{networkKeys, logKeys, replicationKeys, quorumKeys, groupKeys, shareKeys,
		streamsKeys, txnKeys, remoteKeys, metricsKeys, saslKeys, oauthKeys, sslKeys, ottlaKeys}
	topicArea   = [...][]Key{topicKeys}
	groupArea   = [...][]Key{groupOverrideKeys}
	metricsArea = [...][]Key{clientMetricsKeys}
)

// index finds keys by name. One is built for each scope when it is first asked for, in some
// ten microseconds.
type index struct {
	sorted []*Key
	byName map[string]*Key
}

var (
	brokerIndex  = sync.OnceValue(func() *index { return newIndex(brokerAreas[:]) })
	topicIndex   = sync.OnceValue(func() *index { return newIndex(topicArea[:]) })
	groupIndex   = sync.OnceValue(func() *index { return newIndex(groupArea[:]) })
	metricsIndex = sync.OnceValue(func() *index { return newIndex(metricsArea[:]) })
)

func newIndex(areas [][]Key) *index {
	n := 0
	for _, a := range areas {
		n += len(a)
	}
	x := &index{make([]*Key, 0, n), make(map[string]*Key, n)}
	for _, a := range areas {
		for i := range a {
			x.sorted = append(x.sorted, &a[i])
			x.byName[a[i].Name] = &a[i]
		}
	}
	slices.SortFunc(x.sorted, func(a, b *Key) int { return strings.Compare(a.Name, b.Name) })
	return x
}

func indexOf(s Scope) *index {
	switch s {
	case ScopeTopic:
		return topicIndex()
	case ScopeBroker:
		return brokerIndex()
	case ScopeGroup:
		return groupIndex()
	case ScopeClientMetrics:
		return metricsIndex()
	}
	return &index{}
}

// Keys lists the keys of a scope, sorted by name, internal ones included. The slice is shared: do not write to it.
func Keys(s Scope) []*Key { return indexOf(s).sorted }

// Find is the key by name, or nil. For brokers, listener.name.<listener>.<key> finds the key that it
// overrides for one listener.
func Find(s Scope, name string) *Key {
	x := indexOf(s)
	if k := x.byName[name]; k != nil || s != ScopeBroker {
		return k
	}
	base, ok := listenerKey(name)
	if !ok {
		return nil
	}
	return x.byName[base]
}

// listenerPrefix begins the names of settings for one listener.
const listenerPrefix = "listener.name."

// listenerKey takes the listener, and for some SASL keys the mechanism, off the name of a setting for one listener.
func listenerKey(name string) (base string, ok bool) {
	rest, ok := strings.CutPrefix(name, listenerPrefix)
	if !ok {
		return "", false
	}
	_, base, ok = strings.Cut(rest, ".")
	if !ok {
		return "", false
	}
	for _, key := range [...]string{"sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class",
		"sasl.server.callback.handler.class", "connections.max.reauth.ms"} {
		if strings.HasSuffix(base, "."+key) {
			return key, true
		}
	}
	return base, true
}
