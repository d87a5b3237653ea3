package metadata

// Publisher is told of every new image, in order, on one goroutine. Publishers are called one after the other, in
// the order they were given: a later one may rely on an earlier one having taken the image.
type Publisher interface {
	// Name is for log lines.
	Name() string
	// Publish takes the step from delta.Before() to image. The first call's delta starts at an empty image. An
	// error is fatal for the node: it would go on with half of the metadata.
	Publish(delta *Delta, image *Image) error
}
