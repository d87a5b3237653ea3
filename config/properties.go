package config

// Property is one line of a properties file.
type Property struct {
	Name, Value string
	Line        int // first line of the property, from 1; 0 when it came from the command line
}

// Properties are read from a file or the command line, in order. A later one wins over an earlier one of the same name.
type Properties []Property

// ParseProperties reads Java's .properties format; file is used in errors.
func ParseProperties(file string, text []byte) (Properties, error) { panic("being written") }

// ParseOverride reads key=value as the command line has it.
func ParseOverride(arg string) (Property, error) { panic("being written") }

// Default is what `ottla server` runs with when no file is named, with its data in dir.
func Default(dir string) Properties { panic("being written") }
