package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// ApiVersions 0 to 5.
//
//   - Any other version is answered in version 0 with UNSUPPORTED_VERSION and this API's own range, so
//     that a newer client can go lower (KIP-511).
//   - v3: client software name and version, features (KIP-584). Features whose lowest level is 0 are
//     left out below v4, whose readers take 0 for an error.
//   - v5: the client says which cluster and node it means (KIP-1242).
func (h *handlers) apiVersions(_ context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.ApiVersionsRequest)
	resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
	if api, _ := protocol.APIOf(protocol.ApiVersions); !api.Serves(c.Header.Version) {
		resp.SetVersion(0)
		resp.ErrorCode = int16(protocol.UnsupportedVersion)
		resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{apiKey(api)}
		return Body(resp), nil
	}
	if code := h.checkApiVersions(r); code != protocol.None {
		resp.ErrorCode = int16(code)
		return Body(resp), nil
	}
	if r.Version >= 3 {
		c.Conn.SoftwareName, c.Conn.SoftwareVersion = r.ClientSoftwareName, r.ClientSoftwareVersion
	}
	for i := range h.rows {
		if h.rows[i].Listeners&c.Conn.Scope != 0 {
			resp.ApiKeys = append(resp.ApiKeys, apiKey(h.rows[i].API))
		}
	}
	if r.Version >= 3 {
		h.addFeatures(resp)
	}
	return Body(resp), nil
}

func apiKey(a protocol.API) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = a.Key, a.Min, a.Max
	return k
}

func (h *handlers) checkApiVersions(r *kmsg.ApiVersionsRequest) protocol.ErrorCode {
	if r.Version >= 3 && (!validSoftware(r.ClientSoftwareName) || !validSoftware(r.ClientSoftwareVersion)) {
		return protocol.InvalidRequest
	}
	if r.Version < 5 {
		return protocol.None
	}
	switch named := r.ClusterID != nil; {
	case named != (r.NodeID >= 0):
		return protocol.InvalidRequest
	case named && (*r.ClusterID != h.ClusterID || r.NodeID != h.NodeID):
		return protocol.RebootstrapRequired
	}
	return protocol.None
}

// validSoftware checks a software name or version: letters, digits, '-' and '.', the latter two not at the ends.
func validSoftware(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case (b == '-' || b == '.') && i > 0 && i < len(s)-1:
		default:
			return false
		}
	}
	return s != ""
}

func (h *handlers) addFeatures(resp *kmsg.ApiVersionsResponse) {
	for _, f := range h.Features {
		if resp.Version < 4 && f.Min == 0 {
			continue
		}
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MinVersion, s.MaxVersion = f.Feature, f.Min, f.Max
		resp.SupportedFeatures = append(resp.SupportedFeatures, s)
	}
	image := h.Metadata()
	resp.FinalizedFeaturesEpoch = image.Offset
	for _, l := range image.Features() {
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, finalized(l))
	}
}

func finalized(l metadata.Level) kmsg.ApiVersionsResponseFinalizedFeature {
	f := kmsg.NewApiVersionsResponseFinalizedFeature()
	f.Name, f.MinVersionLevel, f.MaxVersionLevel = l.Feature, l.Level, l.Level
	return f
}
