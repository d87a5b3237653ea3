package cli

import (
	"reflect"
	"testing"
)

func sampleCommand() command {
	return command{name: "tool", args: []argument{{names: []string{"--server", "-s"}, group: "where", oneOf: true},
		{names: []string{"--controller"}, group: "where", oneOf: true}}, subs: []command{
		{name: "go", args: []argument{
			{names: []string{"--count", "-n"}, number: true, required: true},
			{names: []string{"--speed"}, float: true},
			{names: []string{"--colour"}, choices: []string{"red", "blue"}},
			{names: []string{"--force", "-f"}, flag: true},
			{names: []string{"--words"}, many: true},
		}},
		{name: "stop"},
	}}
}

func TestParseCommand(t *testing.T) {
	tests := []struct {
		args []string
		want map[string][]string
	}{
		{[]string{"--server", "a", "go", "--count", "-3"}, map[string][]string{"server": {"a"}, "count": {"-3"}}},
		{[]string{"-sa", "go", "-n=4", "-f"}, map[string][]string{"server": {"a"}, "count": {"4"}, "force": {"true"}}},
		{[]string{"--con=a", "go", "--cou", "1", "--col=blue"}, map[string][]string{"controller": {"a"}, "count": {"1"}, "colour": {"blue"}}},
		{[]string{"-s", "a", "go", "--words", "x", "-1", "y", "-n", "1"},
			map[string][]string{"server": {"a"}, "count": {"1"}, "words": {"x", "-1", "y"}}},
	}
	for _, tt := range tests {
		ns, err := parseCommand(sampleCommand(), tt.args)
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
		} else if ns.command != "go" || !reflect.DeepEqual(ns.values, tt.want) {
			t.Errorf("%q: %s %v, want %v", tt.args, ns.command, ns.values, tt.want)
		}
	}
}

// The words are argparse4j's 0.7.
func TestParseCommandErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{nil, "too few arguments"},
		{[]string{"stop"}, "one of the arguments --server/-s --controller is required"},
		{[]string{"-s", "a", "--controller", "b", "stop"}, "argument --controller: not allowed with argument --server/-s"},
		{[]string{"-s", "a", "walk"}, "invalid choice: 'walk' (choose from 'go', 'stop')"},
		{[]string{"-s", "a", "stop", "now"}, "unrecognized arguments: 'now'"},
		{[]string{"-s", "a", "go", "--what"}, "unrecognized arguments: '--what'"},
		{[]string{"-s"}, "argument --server/-s: expected one argument"},
		{[]string{"-s", "a", "go"}, "argument --count/-n is required"},
		{[]string{"-s", "a", "go", "--co", "1"}, "ambiguous option: --co could match --count, --colour"},
		{[]string{"-s", "a", "go", "-n", "x"}, `argument --count/-n: could not convert 'x' to Integer (For input string: "x")`},
		{[]string{"-s", "a", "go", "--speed", "x"}, `argument --speed: could not convert 'x' to Double (For input string: "x")`},
		{[]string{"-s", "a", "go", "--colour", "x"}, "argument --colour: invalid choice: 'x' (choose from {red,blue})"},
		{[]string{"-s", "a", "go", "--force=1"}, "argument --force/-f: ignored explicit argument '1'"},
		{[]string{"-s", "a", "go", "--words", "-f"}, "argument --words: expected at least one argument"},
	}
	for _, tt := range tests {
		if _, err := parseCommand(sampleCommand(), tt.args); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %s", tt.args, err, tt.want)
		}
	}
}
