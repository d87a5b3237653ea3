//go:build invariants

package invariant

import "fmt"

// Enabled says that this build checks invariants (go build -tags invariants).
const Enabled = true

// Check panics when a condition that our own code guarantees does not hold. It is never for input, the disk or the network.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("BUG: " + fmt.Sprintf(format, args...))
	}
}
