package protocol

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Decode reads one request frame (without its length). Records alias the frame, strings do
// not. The error is a reason to close the connection, except that an ApiVersions request of a
// version that is not served comes back as a request of version 0 together with
// UnsupportedVersion: it alone is answered. Memory beyond the frame is bounded.
func Decode(frame []byte) (RequestHeader, kmsg.Request, error) {
	h, body, err := ReadHeader(frame, nil)
	if err != nil {
		if h.Key == ApiVersions && CodeOf(err) == UnsupportedVersion {
			return h, kmsg.NewPtrApiVersionsRequest(), err
		}
		return h, nil, err
	}
	req := kmsg.RequestForKey(h.Key)
	return h, req, DecodeBody(h, body, req)
}

// DecodeBody reads a body into req, which must be of the header's key and may have been used
// before. Records alias the body, strings do not. It refuses what Kafka refuses and kmsg does
// not, and sets the defaults that kmsg lacks for fields absent from old versions.
func DecodeBody(h RequestHeader, body []byte, req kmsg.Request) error {
	if err := check(h, body, req); err != nil {
		return err
	}
	if err := req.ReadFrom(body); err != nil {
		return fmt.Errorf("%s version %d: %w", kmsg.NameForKey(h.Key), h.Version, err)
	}
	setDefaults(req)
	return nil
}

// DecodeBodyAliased is DecodeBody with strings that alias the body too: for requests of the hot
// paths, of which nothing may outlive the frame.
func DecodeBodyAliased(h RequestHeader, body []byte, req kmsg.Request) error {
	unsafe, ok := req.(kmsg.UnsafeReadFrom)
	if !ok {
		return DecodeBody(h, body, req)
	}
	if err := check(h, body, req); err != nil {
		return err
	}
	if err := unsafe.UnsafeReadFrom(body); err != nil {
		return fmt.Errorf("%s version %d: %w", kmsg.NameForKey(h.Key), h.Version, err)
	}
	setDefaults(req)
	return nil
}

func check(h RequestHeader, body []byte, req kmsg.Request) error {
	if req == nil || req.Key() != h.Key {
		return fmt.Errorf("api key %d: %w", h.Key, UnsupportedVersion)
	}
	req.SetVersion(h.Version)
	if err := checkBody(&requestShapes[h.Key], h.Version, body); err != nil {
		return fmt.Errorf("%s version %d: %w", kmsg.NameForKey(h.Key), h.Version, err)
	}
	return nil
}

// setDefaults gives fields that the request's version does not carry Kafka's default.
func setDefaults(req kmsg.Request) {
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		if r.Version < 4 {
			r.AllowAutoTopicCreation = true
		}
	case *kmsg.ListOffsetsRequest:
		if r.Version < 10 {
			r.TimeoutMillis = 0
		}
	case *kmsg.UpdateFeaturesRequest:
		if r.Version < 1 {
			for i := range r.FeatureUpdates {
				r.FeatureUpdates[i].UpgradeType = 1
			}
		}
	}
}
