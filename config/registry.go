package config

// Keys lists the keys of a scope, sorted by name, internal ones included. The slice is shared: do not write to it.
func Keys(s Scope) []*Key { panic("being written") }

// Find is the key by name, or nil. For brokers, listener.name.<listener>.<key> finds the key that can be set per listener.
func Find(s Scope, name string) *Key { panic("being written") }
