package ottla

import (
	"slices"
	"sync/atomic"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/groupcoord"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/storage"
	"github.com/ottla/ottla/txncoord"
)

// settings are the node's effective settings. They are replaced whole when the
// metadata changes them, before any other publisher sees that image.
type settings struct {
	node   int32
	layers atomic.Pointer[config.Layers]
	groups atomic.Pointer[groupcoord.Config] // derived, since every group request asks
	txns   atomic.Pointer[txncoord.Config]   // likewise
	// changed is told of new values, on the publishing goroutine; what follows the image itself needs no telling.
	changed func(config.Values)
}

func newSettings(c *config.Static) *settings {
	s := &settings{node: c.NodeID}
	s.set(config.Layers{Static: c})
	return s
}

func (s *settings) set(l config.Layers) {
	g, t := groupcoord.ConfigOf(l.Broker()), txncoord.ConfigOf(l.Broker())
	s.layers.Store(&l)
	s.groups.Store(&g)
	s.txns.Store(&t)
}

func (s *settings) current() config.Layers       { return *s.layers.Load() }
func (s *settings) group() groupcoord.Config     { return *s.groups.Load() }
func (s *settings) transaction() txncoord.Config { return *s.txns.Load() }
func (*settings) Name() string                   { return "settings" }
func (s *settings) broker() config.Values        { return s.current().Broker() }

// topic is the log configuration of a topic with these overrides.
func (s *settings) topic(overrides map[string]string) storage.LogConfig {
	return logConfig(s.current().Topic(overrides))
}

// Publish takes over the dynamic settings of all brokers and of this one.
func (s *settings) Publish(d *metadata.Delta, i *metadata.Image) error {
	if !d.ConfigsChanged() {
		return nil
	}
	own := metadata.BrokerConfig(s.node)
	if changed := d.Configs(); slices.Contains(changed, metadata.AllBrokers) || slices.Contains(changed, own) {
		s.set(config.Layers{Static: s.current().Static, Default: i.Config(metadata.AllBrokers), Own: i.Config(own)})
		s.changed(s.broker())
	}
	return nil
}
