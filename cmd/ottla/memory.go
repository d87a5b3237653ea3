package main

import "runtime/debug"

// leanMemory sets the garbage collector for a server that is mostly idle.
func leanMemory() {
	debug.SetGCPercent(50)
}
