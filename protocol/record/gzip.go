package record

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipReader reads concatenated members, and takes what follows the last of them for padding, as
// Java's reader does.
type gzipReader struct {
	in bytes.Reader
	z  *gzip.Reader
}

var gzipReaders sync.Pool

func openGzip(payload []byte) (stream, error) {
	r, _ := gzipReaders.Get().(*gzipReader)
	if r == nil {
		r = &gzipReader{z: new(gzip.Reader)}
	}
	r.in.Reset(payload)
	if err := r.z.Reset(&r.in); err != nil {
		return stream{}, err
	}
	r.z.Multistream(false)
	return stream{r, func() { r.in.Reset(nil); gzipReaders.Put(r) }}, nil
}

func (r *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := r.z.Read(p)
		if err != io.EOF || n > 0 {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
		if r.in.Len() == 0 || r.z.Reset(&r.in) != nil {
			return 0, io.EOF
		}
		r.z.Multistream(false)
	}
}

// gzipWriters has one pool a level, −1 to 9.
var gzipWriters [11]sync.Pool

// gzipOS is the header byte "operating system unknown" that the JDK writes.
const gzipOS = 0xff

func appendGzip(dst, src []byte, level int) []byte {
	if level < gzip.DefaultCompression || level > gzip.BestCompression {
		level = gzip.DefaultCompression
	}
	out := appender{dst}
	pool := &gzipWriters[level+1]
	z, _ := pool.Get().(*gzip.Writer)
	if z == nil {
		z, _ = gzip.NewWriterLevel(&out, level)
	} else {
		z.Reset(&out)
	}
	z.OS = gzipOS
	z.Write(src) // an appender never fails, and nothing else can
	z.Close()
	z.Reset(nil)
	pool.Put(z)
	return out.b
}

// appender is a writer into a slice.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
