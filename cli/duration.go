package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var isoDuration = regexp.MustCompile(`(?i)^([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?$`)

// parseDuration reads an ISO 8601 duration of days, hours, minutes and seconds, as in P1DT2H30M or PT0.5S.
func parseDuration(s string) (time.Duration, error) {
	bad := &javaError{class: "java.time.format.DateTimeParseException", msg: "Text cannot be parsed to a Duration"}
	m := isoDuration.FindStringSubmatch(s)
	if m == nil || strings.EqualFold(m[3], "T") || m[2] == "" && m[3] == "" {
		return 0, bad
	}
	var total time.Duration
	for i, unit := range map[int]time.Duration{2: 24 * time.Hour, 4: time.Hour, 5: time.Minute, 6: time.Second} {
		if m[i] == "" {
			continue
		}
		n, err := strconv.ParseInt(m[i], 10, 64)
		if err != nil || time.Duration(n)*unit/unit != time.Duration(n) {
			return 0, bad
		}
		total += time.Duration(n) * unit
	}
	if m[7] != "" {
		nanos, err := strconv.ParseInt((m[7] + "000000000")[:9], 10, 64)
		if err != nil {
			return 0, bad
		}
		if strings.HasPrefix(m[6], "-") {
			nanos = -nanos
		}
		total += time.Duration(nanos)
	}
	if m[1] == "-" {
		total = -total
	}
	return total, nil
}

var isoDateTime = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d+)(Z|[+-]\d{2}(?::?\d{2})?)?$`)

// parseDateTime reads YYYY-MM-DDThh:mm:ss.sss with an optional zone (Z, +hh, +hhmm, +hh:mm), UTC without one.
func parseDateTime(s string) (time.Time, error) {
	bad := &javaError{class: "java.text.ParseException", msg: fmt.Sprintf("Unparseable date: %q, as it is not of the form YYYY-MM-DDThh:mm:ss.sss", s)}
	m := isoDateTime.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, bad
	}
	zone := strings.ReplaceAll(m[3], ":", "")
	switch len(zone) {
	case 0, 1:
		zone = "+0000"
	case 3:
		zone += "00"
	}
	t, err := time.Parse("2006-01-02T15:04:05-0700", m[1]+zone)
	if err != nil {
		return time.Time{}, bad
	}
	ms, err := strconv.Atoi(m[2][1:]) // a count, not a fraction: .5 is 5 ms, as Kafka's tools read it
	if err != nil || ms > 999 {
		return time.Time{}, bad
	}
	return t.Add(time.Duration(ms) * time.Millisecond), nil
}
