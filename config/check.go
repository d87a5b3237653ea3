package config

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the form of a rule.
type Kind int8

const (
	between      Kind = iota // a whole number from Min to Max
	fraction                 // a decimal number from 0 to Max hundredths
	oneOf                    // one of OneOf
	oneOfAnyCase             // one of OneOf, in any case of letters
	anyOf                    // a list of members of OneOf, possibly empty
	someOf                   // a list of members of OneOf, not empty
	notEmptyList             // a list with at least one entry
	notEmptyText             // a text with at least one character
	gzip                     // -1 or 1 to 9
	throttle                 // * or a list of partition:broker
	reset                    // earliest, latest, or by_duration: with an ISO 8601 duration
	voters                   // a list of id@host:port
	addresses                // a list of host:port
)

// Check is the rule a value must satisfy beyond its type.
type Check struct {
	Kind     Kind
	Min, Max int64
	OneOf    []string
}

const noMax = math.MaxInt64

// The rules that many keys share.
var (
	atLeast0      = Check{Kind: between, Max: noMax}
	atLeast1      = Check{Kind: between, Min: 1, Max: noMax}
	atLeastMinus1 = Check{Kind: between, Min: -1, Max: noMax}
	atLeastMinus2 = Check{Kind: between, Min: -2, Max: noMax}
	nonEmptyList  = Check{Kind: notEmptyList}
	nonEmpty      = Check{Kind: notEmptyText}
	gzipLevel     = Check{Kind: gzip}
	throttled     = Check{Kind: throttle}
	offsetReset   = Check{Kind: reset}
	voterList     = Check{Kind: voters}
	hostPorts     = Check{Kind: addresses}
)

// Allows reports whether text is a value of the key: of its type and within its rule.
func (k *Key) Allows(text string) bool {
	if !typeAllows(k.Type, text) {
		return false
	}
	if k.Type == List {
		return listAllows(k.Valid, splitList(text))
	}
	return k.Valid == nil || k.Valid.allows(text)
}

func typeAllows(t Type, text string) bool {
	ok := true
	switch t {
	case Boolean:
		_, ok = parseBool(text)
	case Int:
		_, ok = parseWhole(text, 32)
	case Short:
		_, ok = parseWhole(text, 16)
	case Long:
		_, ok = parseWhole(text, 64)
	case Double:
		_, ok = parseDouble(text)
	}
	return ok
}

func (c *Check) allows(text string) bool {
	switch c.Kind {
	case between:
		n, ok := parseWhole(text, 64)
		return ok && c.Min <= n && n <= c.Max
	case fraction:
		f, ok := parseDouble(text)
		return ok && !(f < 0 || f > float64(c.Max)/100) // NaN passes, as in Kafka
	case oneOf:
		return slices.Contains(c.OneOf, strings.TrimSpace(text))
	case oneOfAnyCase:
		return slices.ContainsFunc(c.OneOf, func(s string) bool { return strings.EqualFold(s, strings.TrimSpace(text)) })
	case notEmptyText:
		return strings.TrimSpace(text) != ""
	case gzip:
		n, ok := parseWhole(text, 32)
		return ok && (n == -1 || 1 <= n && n <= 9)
	case reset:
		return resetAllows(strings.TrimSpace(text))
	}
	return true
}

// listAllows is the rule for lists. One that none of the special rules governs never has an empty
// entry; entries that occur twice are allowed and count once.
func listAllows(c *Check, list []string) bool {
	if c == nil {
		return !slices.Contains(list, "")
	}
	switch c.Kind {
	case anyOf, someOf:
		if c.Kind == someOf && len(list) == 0 {
			return false
		}
		return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(c.OneOf, s) })
	case throttle:
		return throttleAllows(list)
	case voters:
		_, err := parseVoters(list)
		return err == nil
	case addresses:
		return !slices.ContainsFunc(list, func(s string) bool { _, _, ok := splitHostPort(s); return !ok })
	}
	return len(list) > 0 && !slices.Contains(list, "")
}

func throttleAllows(list []string) bool {
	if len(list) == 1 && list[0] == "*" {
		return true
	}
	for _, s := range list {
		partition, broker, ok := strings.Cut(s, ":")
		if !ok || !digits(partition) || !digits(broker) {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// allowed says in words what a key's values are; it ends a sentence.
func (k *Key) allowed() string {
	c := k.Valid
	if c == nil || c.Kind == between && k.Type != Int && k.Type != Long && k.Type != Short {
		return typeWords(k.Type)
	}
	switch c.Kind {
	case between:
		if c.Max == noMax {
			return "a whole number, at least " + strconv.FormatInt(c.Min, 10)
		}
		return "a whole number from " + strconv.FormatInt(c.Min, 10) + " to " + strconv.FormatInt(c.Max, 10)
	case fraction:
		return "a number from 0 to " + strconv.FormatFloat(float64(c.Max)/100, 'g', -1, 64)
	case oneOf, oneOfAnyCase:
		return "one of " + strings.Join(c.OneOf, ", ")
	case anyOf:
		return "a list of " + strings.Join(c.OneOf, ", ")
	case someOf:
		return "a list, not empty, of " + strings.Join(c.OneOf, ", ")
	case notEmptyList:
		return "a list, not empty, without empty entries"
	case notEmptyText:
		return "a text that is not empty"
	case gzip:
		return "-1 or a whole number from 1 to 9"
	case throttle:
		return "* or a list of partition:broker"
	case reset:
		return "earliest, latest, or by_duration: followed by an ISO 8601 duration that is not negative"
	case voters:
		return "a list of id@host:port"
	case addresses:
		return "a list of host:port"
	}
	return typeWords(k.Type)
}

func typeWords(t Type) string {
	switch t {
	case Boolean:
		return "true or false"
	case Int:
		return "a whole number of 32 bits"
	case Short:
		return "a whole number of 16 bits"
	case Long:
		return "a whole number of 64 bits"
	case Double:
		return "a number"
	case List:
		return "a list without empty entries"
	}
	return "any text"
}
