// Package invariant holds assertions about our own code: checked in tests and
// whenever the build tag `invariants` is set, free in a release.
//
// Programmer errors are asserted here. Operating errors (disk, network, input)
// are never: they are returned.
package invariant
