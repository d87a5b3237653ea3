package config

// Roles are what process.roles names.
type Roles struct{ Broker, Controller bool }

// Listener is one entry of `listeners` with what belongs to it.
type Listener struct {
	Name             string
	SecurityProtocol string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	Host             string // to bind; "" is every address; IPv6 without brackets
	Port             int    // to bind; 0 lets the system choose
	Controller       bool   // named by controller.listener.names
	// AdvertisedHost "" is the name of this machine, AdvertisedPort 0 the port that was bound.
	AdvertisedHost string
	AdvertisedPort int
}

// Voter is one entry of controller.quorum.voters.
type Voter struct {
	ID   int32
	Host string
	Port int
}

// Static is a checked configuration file. It never changes.
type Static struct {
	NodeID              int32
	Roles               Roles
	Listeners           []Listener // those to bind, in the file's order, controller ones included
	InterBrokerListener string     // "" without the broker role
	ControllerListeners []string   // controller.listener.names, also those of other nodes
	Voters              []Voter    // controller.quorum.voters
	Bootstrap           []string   // controller.quorum.bootstrap.servers, host:port
	LogDirs             []string   // never empty
	MetadataLogDir      string     // one of its own, or the first of LogDirs
	LogLevel            string     // ottla.log.level: debug, info, warn, error
	set                 map[string]string
}

// Load checks properties as Kafka 4.4 does at start. The warnings are sentences for the log; the error
// is one sentence that names the key, the value and what is allowed.
func Load(p Properties) (*Static, []string, error) { panic("being written") }

// Lookup is the text a key was set to, in the file or on the command line.
func (s *Static) Lookup(name string) (string, bool) { v, ok := s.set[name]; return v, ok }
