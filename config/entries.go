package config

import (
	"slices"
	"strings"
)

// Source is where a value comes from, with DescribeConfigs' codes (KIP-226, KIP-569).
type Source int8

const (
	SourceTopic         Source = 1
	SourceBroker        Source = 2 // dynamic, this broker
	SourceBrokerDefault Source = 3 // dynamic, all brokers
	SourceStatic        Source = 4 // the file
	SourceDefault       Source = 5
	SourceBrokerLogger  Source = 6
	SourceClientMetrics Source = 7
	SourceGroup         Source = 8
)

// Entry is one setting as DescribeConfigs answers it. Value is nil for null and for sensitive keys.
type Entry struct {
	Name      string
	Value     *string
	Source    Source
	Type      Type // 0 for a property that is not known
	ReadOnly  bool
	Default   bool // version 0's is_default
	Sensitive bool
	Synonyms  []Synonym
	Doc       string
}

// Synonym is one of the places a value could come from, the winner first.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Entries lists what DescribeConfigs answers for the resource, sorted by name; names, when not empty,
// keeps only those keys, and unknown ones are left out.
func (v Values) Entries(names []string) []Entry {
	var out []Entry
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	for _, k := range Keys(v.scope) {
		if wanted(k.Name) && (!k.Internal || v.isSet(k.Name)) {
			out = append(out, v.entry(k))
		}
	}
	if v.scope != ScopeBroker {
		return out
	}
	// Properties that are no keys of their own: unknown ones, and those for one listener.
	known := len(out)
	for _, at := range v.layers.inOrder() {
		for name := range at.set {
			again := slices.ContainsFunc(out[known:], func(e Entry) bool { return e.Name == name })
			if k := Find(ScopeBroker, name); (k == nil || k.Name != name) && wanted(name) && !again {
				out = append(out, v.layers.brokerEntry(name, k))
			}
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// isSet reports that something other than a default gives a value to the key.
func (v Values) isSet(name string) bool {
	if v.scope != ScopeBroker {
		_, ok := v.overrides[name]
		return ok
	}
	for _, at := range v.layers.inOrder() {
		if _, ok := at.set[name]; ok {
			return true
		}
	}
	return false
}

func (v Values) entry(k *Key) Entry {
	if v.scope == ScopeBroker {
		return v.layers.brokerEntry(k.Name, k)
	}
	text, ok := v.resolve(k)
	e := Entry{Name: k.Name, Type: k.Type, Sensitive: k.Sensitive(), Doc: k.Doc}
	e.Value = valueOf(k, text, ok)
	if _, set := v.overrides[k.Name]; set {
		e.Synonyms = append(e.Synonyms, Synonym{k.Name, e.Value, v.overrideSource()})
	}
	switch {
	case len(k.Synonyms) > 0:
		name := k.Synonyms[0].Name
		e.Synonyms = append(e.Synonyms, v.layers.synonyms(name, Find(ScopeBroker, name))...)
	case v.scope == ScopeGroup && !k.Null:
		e.Synonyms = append(e.Synonyms, Synonym{k.Name, valueOf(k, k.Default, true), SourceDefault})
	}
	e.settle()
	return e
}

func (v Values) overrideSource() Source {
	switch v.scope {
	case ScopeGroup:
		return SourceGroup
	case ScopeClientMetrics:
		return SourceClientMetrics
	}
	return SourceTopic
}

// settle takes the source of the value from the first synonym.
func (e *Entry) settle() {
	e.Source = SourceDefault
	if len(e.Synonyms) > 0 {
		e.Source = e.Synonyms[0].Source
	}
	e.Default = e.Source == SourceDefault
}

// valueOf hides what is sensitive. A nil key is not known, and what is not known is sensitive.
func valueOf(k *Key, text string, ok bool) *string {
	if k == nil || k.Sensitive() || !ok {
		return nil
	}
	return &text
}

// brokerEntry describes a broker property. k is nil when the name is not known.
func (l Layers) brokerEntry(name string, k *Key) Entry {
	e := Entry{Name: name, ReadOnly: true, Sensitive: true, Synonyms: l.synonyms(name, k)}
	if k != nil {
		text, ok := l.resolveBroker(name, k)
		e.Type, e.Sensitive, e.Doc, e.Value = k.Type, k.Sensitive(), k.Doc, valueOf(k, text, ok)
		e.ReadOnly = k.Mode == ReadOnly || name != k.Name
	}
	e.settle()
	return e
}

// synonyms lists everything that could give name its value, the strongest first, beginning with the
// first that has that very name; texts are as they were set.
func (l Layers) synonyms(name string, k *Key) []Synonym {
	var room [3]string
	names := append(room[:0], name)
	switch {
	case k == nil:
	case name != k.Name: // for one listener
		names = append(names, k.Name)
	case len(k.Synonyms) > 0:
		names = names[:0]
		for _, s := range k.Synonyms {
			names = append(names, s.Name)
		}
	}
	var out []Synonym
	for _, at := range l.inOrder() {
		for _, n := range names {
			if text, ok := at.set[n]; ok {
				out = append(out, Synonym{n, valueOf(k, text, true), at.source})
			}
		}
	}
	for _, n := range names {
		if d := brokerIndex().byName[n]; d != nil && !d.Null && !d.OnlyDynamic {
			out = append(out, Synonym{n, valueOf(d, d.Default, true), SourceDefault})
		}
	}
	first := slices.IndexFunc(out, func(s Synonym) bool { return s.Name == name })
	if first < 0 {
		return nil
	}
	return out[first:]
}

// BrokerDefaults lists what DescribeConfigs answers for broker "": the dynamic settings of all brokers,
// as they were set.
func (l Layers) BrokerDefaults(names []string) []Entry {
	var out []Entry
	only := Layers{Default: l.Default}
	for _, name := range sortedNames(l.Default) {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		k := Find(ScopeBroker, name)
		e := only.brokerEntry(name, k)
		e.Value = valueOf(k, l.Default[name], true)
		e.Synonyms = slices.DeleteFunc(e.Synonyms, func(s Synonym) bool { return s.Source != SourceBrokerDefault })
		out = append(out, e)
	}
	return out
}
