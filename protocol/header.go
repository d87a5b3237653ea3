package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// RequestHeader opens every request. ClientID nil is the wire's null.
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      *string
}

// Client is the client id, "" when none was sent.
func (h RequestHeader) Client() string {
	if h.ClientID == nil {
		return ""
	}
	return *h.ClientID
}

// HeaderStart is the number of bytes that hold key and version: enough to choose a bound
// for the frame before it is read.
const HeaderStart = 4

// fixedHeader is key, version and correlation id; the client id's length follows.
const fixedHeader = 8

// errHeader is what a frame is refused for when it is too short to be a request.
var errHeader = errors.New("request header cut short")

// PeekKey reads key and version from the first HeaderStart bytes of a frame.
func PeekKey(start []byte) (key, version int16) {
	return int16(binary.BigEndian.Uint16(start)), int16(binary.BigEndian.Uint16(start[2:]))
}

// ReadHeader splits a frame (without its length) into header and body. The layout (header
// version 1, or 2 with tagged fields) follows from key and version; the client id is never in
// compact form. A client id equal to previous is not allocated again but shared.
// An unknown key or a version that is not served gives UnsupportedVersion, together with
// the header as far as it could be read; ApiVersions is the one API that answers it.
func ReadHeader(frame []byte, previous *string) (RequestHeader, []byte, error) {
	if len(frame) < fixedHeader+2 {
		return RequestHeader{}, nil, errHeader
	}
	var h RequestHeader
	h.Key, h.Version = PeekKey(frame)
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	api, known := APIOf(h.Key)
	if !known {
		return h, nil, fmt.Errorf("api key %d: %w", h.Key, UnsupportedVersion)
	}
	rest := frame[fixedHeader:]
	n := int(int16(binary.BigEndian.Uint16(rest)))
	rest = rest[2:]
	if n > len(rest) {
		return h, nil, errHeader
	}
	if n >= 0 {
		h.ClientID = shareString(rest[:n], previous)
		rest = rest[n:]
	}
	if flexible(h.Key, h.Version) {
		w := walker{in: rest}
		if err := w.tags(nil); err != nil {
			return h, nil, fmt.Errorf("request header: %w", err)
		}
		rest = w.in
	}
	if !api.Serves(h.Version) {
		return h, nil, fmt.Errorf("%s version %d: %w", api.Name, h.Version, UnsupportedVersion)
	}
	return h, rest, nil
}

// flexible says whether requests of that version, and their headers, have tagged fields.
func flexible(key, version int16) bool {
	return version >= int16(requestShapes[key].flexible)
}

func shareString(b []byte, previous *string) *string {
	if previous != nil && string(b) == *previous {
		return previous
	}
	s := string(b)
	return &s
}

// AppendResponseHeader appends what precedes a response's body: the correlation id and, in
// flexible versions, an empty tag section. ApiVersions never has the latter, so that a client
// can read the answer before it knows what the server speaks.
func AppendResponseHeader(dst []byte, h RequestHeader) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.CorrelationID))
	if h.Key != ApiVersions && flexible(h.Key, h.Version) {
		dst = append(dst, 0)
	}
	return dst
}
