// Package lint holds the rules of this project as tests over its own source:
// which package may import which, what pure packages must not do, how long a
// file or function may be. It has no code of its own.
//
// A rule that turns out to be wrong is changed here, in the same commit as
// docs/ARCHITECTURE.md, and not worked around.
package lint
