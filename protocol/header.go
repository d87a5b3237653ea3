package protocol

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
