package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// The text forms of values are Java's: numbers as Integer.parseInt and Double.parseDouble read them
// and toString writes them, lists separated by commas with white space around them ignored.

func parseBool(text string) (value, ok bool) {
	switch t := strings.TrimSpace(text); {
	case strings.EqualFold(t, "true"):
		return true, true
	case strings.EqualFold(t, "false"):
		return false, true
	}
	return false, false
}

func parseWhole(text string, bits int) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, bits)
	return n, err == nil
}

func parseDouble(text string) (float64, bool) {
	t := strings.TrimSpace(text)
	switch t {
	case "NaN":
		return math.NaN(), true
	case "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if strings.ContainsAny(t, "_iInN") { // Go's digit groups, infinities and other spellings of NaN
		return 0, false
	}
	if n := len(t) - 1; n > 0 && strings.IndexByte("dDfF", t[n]) >= 0 && (t[n-1] == '.' || '0' <= t[n-1] && t[n-1] <= '9') {
		t = t[:n] // Java's suffix of a type
	}
	f, err := strconv.ParseFloat(t, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

// splitList reads a list. An empty text is an empty list; an entry may be empty, which no rule allows.
func splitList(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	list := strings.Split(text, ",")
	for i, s := range list {
		list[i] = strings.TrimSpace(s)
	}
	return list
}

// canonical is the text in which DescribeConfigs answers a value that was written as text. A text that
// is not of the type is returned as it is.
func canonical(t Type, text string) string {
	switch t {
	case Boolean:
		if b, ok := parseBool(text); ok {
			return strconv.FormatBool(b)
		}
	case Int, Short, Long:
		if n, ok := parseWhole(text, 64); ok {
			return strconv.FormatInt(n, 10)
		}
	case Double:
		if f, ok := parseDouble(text); ok {
			return javaDouble(f)
		}
	case List:
		return strings.Join(unique(splitList(text)), ",")
	case String, Class:
		return strings.TrimSpace(text)
	}
	return text
}

// unique drops later repetitions from a list, in place.
func unique(list []string) []string {
	out := list[:0]
next:
	for _, s := range list {
		for _, have := range out {
			if have == s {
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// javaDouble writes a number as Java's Double.toString does: plain with at least one decimal from 1e-3
// to below 1e7, else with an exponent.
func javaDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64)+"inity", "+")
	case f == 0:
		if math.Signbit(f) {
			return "-0.0"
		}
		return "0.0"
	}
	if a := math.Abs(f); a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	digits, exponent, _ := strings.Cut(s, "e")
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return digits + "E" + strconv.Itoa(n)
}
