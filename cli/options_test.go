package cli

import (
	"slices"
	"strings"
	"testing"
)

var testOptions = []option{
	{name: "list"},
	{name: "describe"},
	{name: "topic", arg: requiredArg, hint: "topic", doc: "The topic."},
	{name: "count", arg: requiredArg, kind: "Integer", def: "7"},
	{name: "state", arg: optionalArg, onlyWith: []string{"list"}},
	{name: "drop", arg: requiredArg, split: ","},
	{name: "consumer.config", arg: requiredArg},
}

func TestParseOptions(t *testing.T) {
	tests := []struct {
		args string
		want string // option=value,... in the order of testOptions; has without a value is option=
		err  string
	}{
		{args: "--list", want: "list="},
		{args: "-list", want: "list="},
		{args: "--topic a", want: "topic=a"},
		{args: "--topic=a=b", want: "topic=a=b"},
		{args: "--topic=", want: "topic="},
		{args: "-topic a extra", want: "topic=a"},
		{args: "--topic --list", want: "topic=--list"},
		{args: "--consumer.config f", want: "consumer.config=f"},
		{args: "--topic a --topic b", want: "topic=a+b"},
		{args: "--list --state", want: "list= state="},
		{args: "--list --state a,b", want: "list= state=a,b"},
		{args: "--state --list", want: "list= state="},
		{args: "--list --state=x", want: "list= state=x"},
		{args: "--drop a,b --drop c", want: "drop=a+b+c"},
		{args: "--list -- --topic a", want: "list="},
		{args: "--list - x", want: "list="},
		{args: "--bogus", err: "bogus is not a recognized option"},
		{args: "--bogus=3", err: "bogus is not a recognized option"},
		{args: "-bogus", err: "b is not a recognized option"},
		{args: "--top a", err: "top is not a recognized option"},
		{args: "--topic", err: "Option topic requires an argument"},
		{args: "--state", err: "Option(s) [state] are unavailable given other options on the command line"},
		{args: "--state --help", want: "state="},
	}
	for _, tt := range tests {
		p, err := parseOptions(testOptions, strings.Fields(tt.args))
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", tt.args, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		var got []string
		for _, o := range testOptions {
			if p.has(o.name) {
				got = append(got, o.name+"="+strings.Join(p.lookup(o.name).raw, "+"))
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: got %q, want %q", tt.args, s, tt.want)
		}
	}
}

func TestOptionValues(t *testing.T) {
	p, err := parseOptions(testOptions, strings.Fields("--topic a --drop x,y"))
	if err != nil {
		t.Fatal(err)
	}
	if p.str("topic") != "a" || p.int32("count") != 7 || !slices.Equal(p.list("drop"), []string{"x", "y"}) || p.err != nil {
		t.Errorf("topic %q, count %d, drop %q, error %v", p.str("topic"), p.int32("count"), p.list("drop"), p.err)
	}
	for args, want := range map[string]string{
		"--topic a --topic b":  "Found multiple arguments for option topic, but you asked for only one",
		"--count many":         "Cannot parse argument 'many' of option count",
		"--count 3000000000":   "Cannot parse argument '3000000000' of option count",
		"--count=":             "Cannot parse argument '' of option count",
		"--count 1 --count 2x": "Found multiple arguments for option count, but you asked for only one",
	} {
		p, err := parseOptions(testOptions, strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		p.str("topic")
		p.int32("count")
		if p.err == nil || p.err.Error() != want {
			t.Errorf("%s: error %v, want %s", args, p.err, want)
		}
	}
}

func TestUsageTable(t *testing.T) {
	p, err := parseOptions([]option{
		{name: "topic", arg: requiredArg, hint: "a long hint about what it takes, longer than its column", doc: "Words that need a second line because the column for them is narrow.\nAnd a paragraph."},
		{name: "n", arg: optionalArg, kind: "Long", def: "5", doc: "A number."},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `
Option                                   Description                            ` + `
------                                   -----------                            ` + `
--help                                   Print this and exit.                   ` + `
--n [Long]                               A number. (default: 5)                 ` + `
--topic <String: a long hint about what  Words that need a second line because  ` + `
  it takes, longer than its column>        the column for them is narrow.       ` + `
                                         And a paragraph.                       ` + `
--version                                Print the version of Apache Kafka this ` + `
                                           tool stands for.                     ` + `
`
	if got := p.usage(); got != want[1:] {
		t.Errorf("got\n%s\nwant\n%s", got, want[1:])
	}
}

func TestChecks(t *testing.T) {
	p, err := parseOptions(testOptions, []string{"--list", "--describe"})
	if err != nil {
		t.Fatal(err)
	}
	if err := requireAll(p, "list", "topic"); err == nil || err.Error() != `Missing required argument "[topic]"` {
		t.Errorf("requireAll: %v", err)
	}
	if err := refuseWith(p, "list", "topic", "describe"); err == nil || err.Error() != `Option "[list]" can't be used with option "[describe]"` {
		t.Errorf("refuseWith: %v", err)
	}
	if err := refuseWith(p, "topic", "list"); err != nil {
		t.Errorf("refuseWith refuses for an option that is not there: %v", err)
	}
}
