package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// argument declares an argument of the tools that have subcommands or whose options are parsed like those of Python's
// argparse: --name VALUE, --name=VALUE, any prefix of --name that is unique, -n VALUE, -nVALUE.
type argument struct {
	names    []string // "--name" first
	flag     bool     // takes no value
	many     bool     // takes all values up to the next option
	number   bool     // takes an integer
	float    bool     // takes a number
	choices  []string // takes one of these
	required bool
	group    string // at most one of the arguments of a group may be there
	oneOf    bool   // and one of them has to be
	metavar  string
	def      string
	help     string
}

func (a argument) name() string { return strings.TrimLeft(a.names[0], "-") }

// command declares a command line: a program, or a subcommand of it.
type command struct {
	name, help string
	args       []argument
	subs       []command
}

// namespace is a parsed command line. Values of arguments that are not there are absent.
type namespace struct {
	command string // the subcommand
	values  map[string][]string
}

func (n *namespace) has(name string) bool { _, ok := n.values[name]; return ok }

func (n *namespace) str(name string) string {
	if v := n.values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// intOr is the number of an argument, def without it.
func (n *namespace) intOr(name string, def int64) int64 {
	if !n.has(name) {
		return def
	}
	return n.int(name)
}

func (n *namespace) int(name string) int64 {
	i, _ := strconv.ParseInt(n.str(name), 10, 64) // parseCommand checked it
	return i
}

// argError is a command line that cannot be understood, or with help a request for help on the command.
type argError struct {
	path []command // the program and maybe its subcommand
	msg  string
	help bool
}

func (e *argError) Error() string { return e.msg }

// parseCommand parses a command line.
func parseCommand(program command, args []string) (*namespace, error) {
	ns := &namespace{values: map[string][]string{}}
	if err := parseLevel([]command{program}, args, ns); err != nil {
		return nil, err
	}
	return ns, nil
}

// parseLevel parses the arguments of the last command of the path; the rest after a subcommand's name is parsed as that
// subcommand's.
func parseLevel(path []command, args []string, ns *namespace) error {
	cmd := path[len(path)-1]
	fail := func(format string, a ...any) error { return &argError{path: path, msg: fmt.Sprintf(format, a...)} }
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "-h" || arg == "--help" {
			return &argError{path: path, help: true}
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			if len(cmd.subs) == 0 {
				return fail("unrecognized arguments: '%s'", arg)
			}
			i := slices.IndexFunc(cmd.subs, func(s command) bool { return s.name == arg })
			if i < 0 {
				return fail("invalid choice: '%s' (choose from %s)", arg, choices(cmd))
			}
			ns.command = arg
			if err := checkArguments(path, ns); err != nil {
				return err
			}
			return parseLevel(append(slices.Clone(path), cmd.subs[i]), args, ns)
		}
		a, value, inline, err := findArgument(path, arg)
		if err != nil {
			return err
		}
		if args, err = takeValue(path, a, value, inline, args, ns); err != nil {
			return err
		}
	}
	if len(cmd.subs) > 0 {
		return fail("too few arguments")
	}
	return checkArguments(path, ns)
}

func choices(cmd command) string {
	var names []string
	for _, s := range cmd.subs {
		names = append(names, "'"+s.name+"'")
	}
	return strings.Join(names, ", ")
}

// findArgument finds the argument that a word starting with a hyphen names, and the value that stands in the same word.
func findArgument(path []command, word string) (a argument, value string, inline bool, err error) {
	cmd := path[len(path)-1]
	if !strings.HasPrefix(word, "--") {
		for _, a := range cmd.args {
			if slices.Contains(a.names, word) {
				return a, "", false, nil
			}
			if len(word) > 2 && slices.Contains(a.names, word[:2]) {
				return a, strings.TrimPrefix(word[2:], "="), true, nil
			}
		}
		return a, "", false, &argError{path: path, msg: "unrecognized arguments: '" + word + "'"}
	}
	name, value, inline := strings.Cut(word, "=")
	var found []argument
	for _, a := range cmd.args {
		if slices.Contains(a.names, name) {
			return a, value, inline, nil
		}
		if slices.ContainsFunc(a.names, func(n string) bool { return strings.HasPrefix(n, name) }) {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return a, "", false, &argError{path: path, msg: "unrecognized arguments: '" + word + "'"}
	case 1:
		return found[0], value, inline, nil
	}
	var names []string
	for _, f := range found {
		names = append(names, f.names[0])
	}
	return a, "", false, &argError{path: path, msg: "ambiguous option: " + name + " could match " + strings.Join(names, ", ")}
}

// takeValue stores the argument's value or values, taken from the rest of the command line unless it came in one word.
func takeValue(path []command, a argument, value string, inline bool, rest []string, ns *namespace) ([]string, error) {
	fail := func(msg string) error {
		return &argError{path: path, msg: "argument " + strings.Join(a.names, "/") + ": " + msg}
	}
	if a.group != "" {
		for _, other := range path[len(path)-1].args {
			if other.group == a.group && other.names[0] != a.names[0] && ns.has(other.name()) {
				return nil, fail("not allowed with argument " + strings.Join(other.names, "/"))
			}
		}
	}
	var taken []string
	switch {
	case a.flag && inline:
		return nil, fail("ignored explicit argument '" + value + "'")
	case a.flag:
		taken = []string{"true"}
	case inline:
		taken = []string{value}
	case a.many:
		n := slices.IndexFunc(rest, isOptionWord)
		if n < 0 {
			n = len(rest)
		}
		taken, rest = rest[:n], rest[n:]
		if len(taken) == 0 {
			return nil, fail("expected at least one argument")
		}
	case len(rest) == 0 || isOptionWord(rest[0]):
		return nil, fail("expected one argument")
	default:
		taken, rest = rest[:1], rest[1:]
	}
	if a.number {
		if _, err := strconv.ParseInt(taken[0], 10, 64); err != nil {
			return nil, fail(fmt.Sprintf("could not convert '%s' to Integer (For input string: \"%s\")", taken[0], taken[0]))
		}
	}
	if a.float {
		if _, err := strconv.ParseFloat(taken[0], 64); err != nil {
			return nil, fail(fmt.Sprintf("could not convert '%s' to Double (For input string: \"%s\")", taken[0], taken[0]))
		}
	}
	if len(a.choices) > 0 && !slices.Contains(a.choices, taken[0]) {
		return nil, fail("invalid choice: '" + taken[0] + "' (choose from {" + strings.Join(a.choices, ",") + "})")
	}
	ns.values[a.name()] = append(ns.values[a.name()], taken...)
	return rest, nil
}

// isOptionWord reports whether a word is an option and not a value; a negative number is a value.
func isOptionWord(w string) bool {
	if !strings.HasPrefix(w, "-") || w == "-" {
		return false
	}
	_, err := strconv.ParseFloat(w, 64)
	return err != nil
}

// checkArguments refuses a command line without an argument that has to be there.
func checkArguments(path []command, ns *namespace) error {
	cmd := path[len(path)-1]
	for _, a := range cmd.args {
		if a.required && !ns.has(a.name()) {
			return &argError{path: path, msg: "argument " + strings.Join(a.names, "/") + " is required"}
		}
	}
	for _, a := range cmd.args {
		if a.group == "" || !a.oneOf {
			continue
		}
		var all []string
		some := false
		for _, other := range cmd.args {
			if other.group == a.group {
				all = append(all, strings.Join(other.names, "/"))
				some = some || ns.has(other.name())
			}
		}
		if !some {
			return &argError{path: path, msg: "one of the arguments " + strings.Join(all, " ") + " is required"}
		}
	}
	return nil
}

// synopsis is the argument with a name for its value.
func (a argument) synopsis(name string) string {
	if a.flag {
		return name
	}
	value := cmp.Or(a.metavar, strings.ToUpper(strings.ReplaceAll(a.name(), "-", "_")))
	if a.many {
		value += " [" + value + " ...]"
	}
	return name + " " + value
}

// usageLine is the line of a command that argparse prints before everything else.
func (e *argError) usageLine() string {
	var words []string
	for _, c := range e.path {
		words = append(words, c.name)
	}
	cmd := e.path[len(e.path)-1]
	words = append(words, "[-h]")
	for i, a := range cmd.args {
		s := a.synopsis(a.names[0])
		switch {
		case a.group != "":
			if slices.ContainsFunc(cmd.args[:i], func(o argument) bool { return o.group == a.group }) {
				continue
			}
			var alternatives []string
			for _, o := range cmd.args {
				if o.group == a.group {
					alternatives = append(alternatives, o.synopsis(o.names[0]))
				}
			}
			s = strings.Join(alternatives, " | ")
			if a.oneOf {
				s = "(" + s + ")"
			} else {
				s = "[" + s + "]"
			}
		case !a.required:
			s = "[" + s + "]"
		}
		words = append(words, s)
	}
	if len(cmd.subs) > 0 {
		var names []string
		for _, s := range cmd.subs {
			names = append(names, s.name)
		}
		words = append(words, "{"+strings.Join(names, ",")+"} ...")
	}
	return "usage: " + indented(words, 75, 7)
}

// indented joins words into lines of at most width characters, indented after the first.
func indented(words []string, width, indent int) string {
	var b strings.Builder
	column := indent
	for i, w := range words {
		if i > 0 && column+1+len(w) > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(w)
		column += len(w)
	}
	return b.String()
}

// helpText is what --help prints.
func (e *argError) helpText() string {
	cmd := e.path[len(e.path)-1]
	var b strings.Builder
	b.WriteString(e.usageLine() + "\n\n" + indented(strings.Fields(cmd.help), 75, 0) + "\n")
	entry := func(left, right string) {
		const column = 23
		b.WriteString("  " + left)
		if len(left)+4 > column {
			b.WriteString("\n" + strings.Repeat(" ", column))
		} else {
			b.WriteString(strings.Repeat(" ", column-2-len(left)))
		}
		b.WriteString(indented(strings.Fields(right), 75, column) + "\n")
	}
	if len(cmd.subs) > 0 {
		b.WriteString("\ncommands:\n")
		for _, s := range cmd.subs {
			entry(s.name, s.help)
		}
	}
	b.WriteString("\noptions:\n")
	entry("-h, --help", "Print this and exit.")
	for _, a := range cmd.args {
		var names []string
		for _, n := range a.names {
			names = append(names, a.synopsis(n))
		}
		help := a.help
		if a.def != "" {
			help += " (default: " + a.def + ")"
		}
		entry(strings.Join(names, ", "), help)
	}
	return b.String()
}

// complain prints the usage and what is wrong, or help on the command.
func (e *env) complain(err *argError) {
	if err.help {
		e.printf("%s", err.helpText())
		return
	}
	e.errorf("%s\n%s: error: %s\n", err.usageLine(), err.path[0].name, err.msg)
}
