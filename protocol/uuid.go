package protocol

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// UUID is Kafka's 128-bit identifier, big-endian as on the wire. The zero value is
// Kafka's ZERO_UUID: "no id" for topics, "migrating" for log directories.
type UUID [16]byte

// Well known identifiers. The first hundred (high half 0, low half below 100) are reserved.
var (
	// MetadataTopicID is the id of __cluster_metadata.
	MetadataTopicID = UUID{15: 1}
	// MigratingDir, UnassignedDir and LostDir are the directory ids of KIP-858.
	MigratingDir  = UUID{}
	UnassignedDir = UUID{15: 1}
	LostDir       = UUID{15: 2}
)

// NewUUID is a random version 4 identifier that is neither reserved nor written with a
// leading '-', which command line tools would take for a flag.
func NewUUID() UUID {
	for {
		var u UUID
		_, _ = rand.Read(u[:]) // never fails: crypto/rand.Read crashes the program instead
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		if !u.IsReserved() && u.String()[0] != '-' {
			return u
		}
	}
}

// ParseUUID reads the text form: base64url of the 16 bytes, padding optional.
func ParseUUID(s string) (UUID, error) {
	text := s
	for len(text) > 22 && text[len(text)-1] == '=' {
		text = text[:len(text)-1]
	}
	var u UUID
	if len(text) != 22 {
		return u, fmt.Errorf("uuid %q: want 22 base64url characters, have %d", s, len(text))
	}
	if _, err := base64.RawURLEncoding.Decode(u[:], []byte(text)); err != nil {
		return UUID{}, fmt.Errorf("uuid %q: %w", s, err)
	}
	return u, nil
}

// String is the base64url text without padding, 22 characters.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// IsZero says that no identifier is set.
func (u UUID) IsZero() bool { return u == UUID{} }

// IsReserved says that the identifier is one of the hundred that Kafka keeps for itself.
func (u UUID) IsReserved() bool {
	return binary.BigEndian.Uint64(u[:8]) == 0 && binary.BigEndian.Uint64(u[8:]) < 100
}

// MarshalText makes a UUID readable in JSON and logs.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (u *UUID) UnmarshalText(b []byte) error {
	v, err := ParseUUID(string(b))
	if err != nil {
		return err
	}
	*u = v
	return nil
}
