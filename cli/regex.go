package cli

import (
	"regexp"
	"strings"
)

// javaRegexp compiles a Java regular expression that has to match the whole of a text. Go has no look-around, no
// back references and no possessive quantifiers; such expressions are refused.
func javaRegexp(expr string) (*regexp.Regexp, error) {
	return regexp.Compile(`^(?:` + expr + `)$`)
}

// topicFilter matches topic names against what --topic takes: a regular expression, or several separated by commas.
type topicFilter struct{ re *regexp.Regexp }

func newTopicFilter(raw string) (topicFilter, error) {
	expr := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(raw), ",", "|"), " ", "")
	expr = strings.Trim(expr, `"'`)
	re, err := javaRegexp(expr)
	if err != nil {
		return topicFilter{}, &javaError{class: "java.lang.RuntimeException", msg: expr + " is an invalid regex."}
	}
	return topicFilter{re}, nil
}

func (f topicFilter) allows(topic string) bool { return f.re.MatchString(topic) }

// internalTopic reports whether the topic is one of the three that the brokers keep for themselves.
func internalTopic(name string) bool {
	return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state"
}
