package protocol

import (
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzDecode: no bytes make the decoder panic, or take more memory than its bound allows.
func FuzzDecode(f *testing.F) {
	for _, a := range APIs() {
		for _, v := range []int16{a.Min, a.Max} {
			req := kmsg.RequestForKey(a.Key)
			req.SetVersion(v)
			f.Add(kmsg.NewRequestFormatter(kmsg.FormatterClientID("id")).AppendRequest(nil, req, 1)[4:])
		}
	}
	f.Add(header(ApiVersions, 127, 0))
	f.Fuzz(func(t *testing.T, in []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h, req, err := Decode(in)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > maxDecoded+64*uint64(len(in))+1<<20 {
			t.Errorf("%d bytes allocated for %d", n, len(in))
		}
		if err != nil {
			return
		}
		if req.Key() != h.Key || req.GetVersion() != h.Version {
			t.Errorf("header %+v, request %T %d", h, req, req.GetVersion())
		}
		if a, ok := APIOf(h.Key); !ok || !a.Serves(h.Version) {
			t.Errorf("served %+v", h)
		}
	})
}
