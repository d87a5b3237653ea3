package config

import "strings"

// resetAllows checks share.auto.offset.reset (KIP-932): earliest, latest, or by_duration: and an ISO 8601
// duration in days, hours, minutes and seconds, not negative as a whole.
func resetAllows(text string) bool {
	if text == "earliest" || text == "latest" {
		return true
	}
	duration, ok := strings.CutPrefix(text, "by_duration:")
	if !ok {
		return false
	}
	seconds, ok := isoSeconds(duration)
	return ok && seconds >= 0
}

// isoSeconds reads PnDTnHnMn.nS as Java's Duration.parse does: any letter case, signs before the whole and
// before each number, a fraction only of seconds.
func isoSeconds(text string) (total float64, ok bool) {
	s := strings.ToUpper(text)
	sign := 1.0
	if rest, minus := strings.CutPrefix(s, "-"); minus {
		s, sign = rest, -1
	} else {
		s = strings.TrimPrefix(s, "+")
	}
	s, ok = strings.CutPrefix(s, "P")
	if !ok {
		return 0, false
	}
	days, clock, hasClock := strings.Cut(s, "T")
	n1, sum1, ok1 := isoParts(days, "D", []float64{86400})
	n2, sum2, ok2 := isoParts(clock, "HMS", []float64{3600, 60, 1})
	if !ok1 || !ok2 || n1+n2 == 0 || hasClock && n2 == 0 {
		return 0, false
	}
	return sign * (sum1 + sum2), true
}

// isoParts adds up numbers, each followed by one of units, in that order.
func isoParts(s, units string, seconds []float64) (n int, sum float64, ok bool) {
	at := 0
	for s != "" {
		end := strings.IndexAny(s, units)
		if end < 0 {
			return 0, 0, false
		}
		u := strings.IndexByte(units, s[end])
		if u < at {
			return 0, 0, false
		}
		number := strings.Replace(s[:end], ",", ".", 1)
		if strings.Contains(number, ".") && s[end] != 'S' || !isoNumber(number) {
			return 0, 0, false
		}
		f, ok := parseDouble(number)
		if !ok {
			return 0, 0, false
		}
		n, sum, at, s = n+1, sum+f*seconds[u], u+1, s[end+1:]
	}
	return n, sum, true
}

// isoNumber is an optional sign, digits, and at most nine digits of a fraction.
func isoNumber(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	whole, fraction, dotted := strings.Cut(s, ".")
	return digits(whole) && (!dotted || fraction == "" || digits(fraction) && len(fraction) <= 9)
}
