package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// argKind says whether an option takes a value.
type argKind int8

const (
	noArg       argKind = iota
	requiredArg         // --name VALUE, --name=VALUE
	optionalArg         // --name, --name VALUE, --name=VALUE
)

// option declares one long option of a tool, with the words that --help prints about it.
type option struct {
	name     string
	arg      argKind
	kind     string // "Integer" or "Long" for numbers; "" for text
	hint     string // what the value is, for --help
	def      string // default value; "" for none
	doc      string
	required bool     // parsing fails without it, unless --help or --version is there
	onlyWith []string // parsing fails unless one of these is there too
	split    string   // a value is split at this separator into several
}

// parsed is the outcome of parsing a command line: which options were there, and their raw values. Values are
// converted when they are asked for; the first failure stays in err, so that a tool reads all it needs and checks once.
type parsed struct {
	opts  []option
	flags *pflag.FlagSet
	order []string // option names in the order of the command line, repeated ones repeated
	count int      // arguments on the command line, options or not
	err   error
}

// optionError is a command line that cannot be understood. class is the name Kafka's parser has for it.
type optionError struct {
	class string
	msg   string
}

func (e *optionError) Error() string { return e.msg }

// javaClass is what a stack trace calls the error.
func (e *optionError) javaClass() string { return "joptsimple." + e.class }

// values collects the raw values of one option; it is a pflag.Value that is set once for each occurrence.
type values struct {
	opt  option
	seen bool
	raw  []string
}

func (v *values) String() string { return strings.Join(v.raw, ",") }

func (v *values) Type() string { return v.opt.kind }

func (v *values) Set(s string) error {
	v.seen = true
	if v.opt.split != "" {
		parts := strings.FieldsFunc(s, func(r rune) bool { return string(r) == v.opt.split })
		if len(parts) > 0 {
			v.raw = append(v.raw, parts...)
			return nil
		}
	}
	v.raw = append(v.raw, s)
	return nil
}

// withDefaults adds the two options every tool has.
func withDefaults(opts []option) []option {
	return append(slices.Clone(opts),
		option{name: "help", doc: "Print this and exit."},
		option{name: "version", doc: "Print the version of Apache Kafka this tool stands for."})
}

// parseOptions reads a command line the way Kafka's option parser does: an option is --name or -name, its value the
// next argument or after "="; "--" ends the options; arguments that are no options are counted and ignored. Options
// may be repeated. On an error the result still knows the options, for --help.
func parseOptions(opts []option, args []string) (*parsed, error) {
	p := &parsed{opts: withDefaults(opts), flags: pflag.NewFlagSet("", pflag.ContinueOnError), count: len(args)}
	for _, o := range p.opts {
		p.flags.Var(&values{opt: o}, o.name, o.doc)
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			continue
		}
		rest, err := p.take(arg, args)
		if err != nil {
			return p, err
		}
		args = rest
	}
	return p, p.checkPresence()
}

// take consumes one option and, from rest, its value.
func (p *parsed) take(arg string, rest []string) ([]string, error) {
	name, value, inline := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	v := p.lookup(name)
	if v == nil {
		if !strings.HasPrefix(arg, "--") {
			name = name[:min(1, len(name))]
		}
		return nil, &optionError{"UnrecognizedOptionException", name + " is not a recognized option"}
	}
	p.order = append(p.order, name)
	switch {
	case v.opt.arg == noArg:
		v.seen = true
		return rest, nil
	case inline:
	case v.opt.arg == optionalArg && (len(rest) == 0 || looksLikeOption(rest[0])):
		v.seen = true
		return rest, nil
	case len(rest) == 0:
		return nil, &optionError{"OptionMissingRequiredArgumentException", "Option " + name + " requires an argument"}
	default:
		value, rest = rest[0], rest[1:]
	}
	return rest, p.flags.Set(name, value)
}

func looksLikeOption(arg string) bool {
	return strings.HasPrefix(arg, "-") && arg != "-" && arg != "--"
}

// checkPresence refuses missing required options and options that make no sense without another.
func (p *parsed) checkPresence() error {
	if p.has("help") || p.has("version") {
		return nil
	}
	var missing, stray []string
	for _, o := range p.opts {
		if o.required && !p.has(o.name) {
			missing = append(missing, o.name)
		}
		if len(o.onlyWith) > 0 && p.has(o.name) && !slices.ContainsFunc(o.onlyWith, p.has) {
			stray = append(stray, o.name)
		}
	}
	if len(missing) > 0 {
		return &optionError{"MissingRequiredOptionsException",
			"Missing required option(s) [" + strings.Join(missing, ", ") + "]"}
	}
	if len(stray) > 0 {
		return &optionError{"UnavailableOptionException",
			"Option(s) [" + strings.Join(stray, ", ") + "] are unavailable given other options on the command line"}
	}
	return nil
}

func (p *parsed) lookup(name string) *values {
	f := p.flags.Lookup(name)
	if f == nil {
		return nil
	}
	return f.Value.(*values)
}

// has reports whether the option was on the command line.
func (p *parsed) has(name string) bool { return p.lookup(name).seen }

// hasAny reports whether at least one of the options was on the command line.
func (p *parsed) hasAny(names ...string) bool { return slices.ContainsFunc(names, p.has) }

// list returns all values of the option, or its default alone, or nothing.
func (p *parsed) list(name string) []string {
	v := p.lookup(name)
	if len(v.raw) == 0 && v.opt.def != "" {
		return []string{v.opt.def}
	}
	return v.raw
}

// str returns the option's only value, "" if there is none.
func (p *parsed) str(name string) string {
	all := p.list(name)
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	p.fail(&optionError{"MultipleArgumentsForOptionException",
		"Found multiple arguments for option " + name + ", but you asked for only one"})
	return ""
}

// integer returns the option's only value as a number of bits bits, 0 if there is none.
func (p *parsed) integer(name string, bits int) int64 {
	s := p.str(name)
	if s == "" && !p.lookup(name).seen {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		p.fail(&optionError{"OptionArgumentConversionException",
			fmt.Sprintf("Cannot parse argument '%s' of option %s", s, name)})
	}
	return n
}

func (p *parsed) int32(name string) int32 { return int32(p.integer(name, 32)) }

func (p *parsed) int64(name string) int64 { return p.integer(name, 64) }

func (p *parsed) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}
