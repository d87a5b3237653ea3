package api

// Deps is what handlers call. The composition root fills every field.
type Deps struct {
}
