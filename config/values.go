package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Layers are the settings one node runs with: its file, and the dynamic settings that the
// metadata log holds for all brokers and for this one. A Layers is a value; whoever keeps one
// replaces it whole when metadata changes. The maps are never written after they were given.
type Layers struct {
	Static  *Static           // nil: nothing is set
	Default map[string]string // resource broker "", for all brokers
	Own     map[string]string // resource broker with this node's id
}

// layer is one of the places a broker setting comes from.
type layer struct {
	set    map[string]string
	source Source
}

// inOrder lists the layers from the strongest, defaults excepted.
func (l Layers) inOrder() [3]layer {
	var static map[string]string
	if l.Static != nil {
		static = l.Static.set
	}
	return [3]layer{{l.Own, SourceBroker}, {l.Default, SourceBrokerDefault}, {static, SourceStatic}}
}

// Values answers the effective values of one resource.
type Values struct {
	scope     Scope
	overrides map[string]string // of the topic, group or subscription
	layers    Layers
}

// Broker is the node's effective settings.
func (l Layers) Broker() Values { return Values{ScopeBroker, nil, l} }

// Topic is the effective settings of a topic with these overrides.
func (l Layers) Topic(overrides map[string]string) Values { return Values{ScopeTopic, overrides, l} }

// Group is the effective settings of a group with these overrides.
func (l Layers) Group(overrides map[string]string) Values { return Values{ScopeGroup, overrides, l} }

// ClientMetrics is the settings of a client metrics subscription (KIP-714).
func ClientMetrics(overrides map[string]string) Values {
	return Values{ScopeClientMetrics, overrides, Layers{}}
}

// The getters panic when the name is not a key of the scope or not of the type: that is a mistake in
// the program. A value that does not satisfy its key counts as unset; only what was stored
// by a node with other rules can be such a one.

// Bool is a Boolean setting.
func (v Values) Bool(name string) bool {
	b, _ := parseBool(v.must(name, Boolean))
	return b
}

// Int is an Int or Short setting.
func (v Values) Int(name string) int32 {
	n, _ := parseWhole(v.must(name, Int, Short), 32)
	return int32(n)
}

// Long is a Long, Int or Short setting.
func (v Values) Long(name string) int64 {
	n, _ := parseWhole(v.must(name, Long, Int, Short), 64)
	return n
}

// Double is a Double setting.
func (v Values) Double(name string) float64 {
	f, _ := parseDouble(v.must(name, Double))
	return f
}

// String is a String, Class or Password setting, "" when it is null.
func (v Values) String(name string) string { return v.must(name, String, Class, Password) }

// List is a List setting, or a String that holds a list, entries trimmed and repetitions dropped.
func (v Values) List(name string) []string { return unique(splitList(v.must(name, List, String))) }

// OfListener is a broker setting for one listener, listener.name.<listener>.<name>, as text, and whether there is one.
func (v Values) OfListener(listener, name string) (string, bool) {
	k, own := v.key(name), listenerPrefix+strings.ToLower(listener)+"."+name
	if v.scope != ScopeBroker || !v.isSet(own) {
		return "", false
	}
	return v.layers.resolveBroker(own, k)
}

// IsNull reports that nothing sets the key and that it has no default.
func (v Values) IsNull(name string) bool {
	_, ok := v.Text(name)
	return !ok
}

// Text is the effective value as DescribeConfigs prints it, and whether there is one.
func (v Values) Text(name string) (string, bool) {
	return v.resolve(v.key(name))
}

func (v Values) key(name string) *Key {
	k := Find(v.scope, name)
	if k == nil {
		panic("config: " + v.scope.String() + " has no setting " + name)
	}
	return k
}

func (v Values) must(name string, types ...Type) string {
	k := v.key(name)
	if !slices.Contains(types, k.Type) {
		panic("config: the setting " + name + " has type " + strconv.Itoa(int(k.Type)))
	}
	text, _ := v.resolve(k)
	return text
}

// resolve is the value of k and whether it has one.
func (v Values) resolve(k *Key) (string, bool) {
	if v.scope == ScopeBroker {
		return v.layers.resolveBroker(k.Name, k)
	}
	if text, ok := v.overrides[k.Name]; ok && k.Allows(text) {
		return canonical(k.Type, text), true
	}
	return v.layers.inherit(k)
}

// resolveBroker is the value of a broker key, which name may give for one listener. A dynamic value
// takes the place of everything weaker that stands for the same setting, so that log.retention.hours
// from the file is unset once log.retention.ms is set while running.
func (l Layers) resolveBroker(name string, k *Key) (string, bool) {
	for _, at := range l.inOrder() {
		if text, ok := at.set[name]; ok && k.Allows(text) {
			return canonical(k.Type, text), true
		}
		if at.source != SourceStatic && name == k.Name && slices.ContainsFunc(k.Synonyms, func(s Inherit) bool { _, ok := at.set[s.Name]; return ok }) {
			break
		}
	}
	return k.Default, !k.Null
}

// inherit is the value of a topic or group key that has no override.
func (l Layers) inherit(k *Key) (string, bool) {
	if len(k.Synonyms) == 0 {
		return k.Default, !k.Null
	}
	for _, at := range l.inOrder() {
		for i := range k.Synonyms {
			from := &k.Synonyms[i]
			if text, ok := at.set[from.Name]; ok && Find(ScopeBroker, from.Name).Allows(text) {
				return from.convert(k, text), true
			}
		}
	}
	for i := range k.Synonyms {
		from := &k.Synonyms[i]
		if b := Find(ScopeBroker, from.Name); !b.Null {
			return from.convert(k, b.Default), true
		}
	}
	return k.Default, !k.Null
}

// convert makes a value of k out of the text of the broker key.
func (s *Inherit) convert(k *Key, text string) string {
	if k.Type == String && Find(ScopeBroker, s.Name).Type == List { // an assignor: the first is the default
		if list := splitList(text); len(list) > 0 {
			return list[0]
		}
		return ""
	}
	if s.Millis == 0 {
		return canonical(k.Type, text)
	}
	n, _ := parseWhole(text, 64)
	if n < 0 {
		return "-1"
	}
	return strconv.FormatInt(n*s.Millis, 10)
}

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
