//go:build !invariants

package invariant

// Enabled says that this build checks invariants (go build -tags invariants).
const Enabled = false

// Check does nothing in this build. Arguments are still evaluated: put expensive ones behind `if invariant.Enabled`.
func Check(ok bool, format string, args ...any) {}
