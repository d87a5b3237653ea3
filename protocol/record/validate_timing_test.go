package record

import (
	"fmt"
	"math"
	"testing"
)

// plainRules are those of a topic with default configuration.
func plainRules() Rules {
	return Rules{
		TimestampBeforeMaxMs: math.MaxInt64, TimestampAfterMaxMs: 3600000, Target: AsSent, Levels: DefaultLevels(),
		MaxMessageBytes: 1048588, SegmentBytes: 1 << 30, MaxDecompressed: MaxDecompressed,
	}
}

// filled is a batch of about size bytes with records of valueSize bytes.
func filled(codec Codec, size, valueSize int) Batch {
	o := NewOptions()
	o.Codec = codec
	b := NewBuilder(o)
	value := make([]byte, valueSize)
	for i := range value {
		value[i] = byte('a' + (i*7+i/13)%26)
	}
	for i := 0; b.Size()+valueSize+20 < size; i++ {
		b.Append(1700000000000+int64(i/10), nil, value)
	}
	return b.Build()
}

func BenchmarkValidate(b *testing.B) {
	for _, codec := range []Codec{None, LZ4, Zstd, Snappy, Gzip} {
		for _, size := range []int{16 << 10, 64 << 10, 1 << 20} {
			for _, value := range []int{1024, 100} {
				batch := filled(codec, size, value)
				b.Run(fmt.Sprintf("%s/%dKB/%dB", codec, size>>10, value), func(b *testing.B) {
					b.SetBytes(int64(size))
					b.ReportAllocs()
					r := plainRules()
					for range b.N {
						if _, _, err := Validate(batch, r, 1700000000000); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func BenchmarkCRC(b *testing.B) {
	batch := filled(None, 64<<10, 1024)
	b.SetBytes(int64(len(batch)))
	for range b.N {
		if !batch.VerifyCRC() {
			b.Fatal("bad CRC")
		}
	}
}

// The hot path of Produce allocates nothing, whatever the batch holds.
func TestValidateDoesNotAllocate(t *testing.T) {
	for _, value := range []int{10, 100, 1024} {
		for _, kind := range []TimestampType{CreateTime, LogAppendTime} {
			batch, r, at := filled(None, 64<<10, value), plainRules(), int64(1700000000000)
			r.TimestampType = kind
			got := testing.AllocsPerRun(100, func() {
				at++
				batch[posAttributes+1] = 0
				batch.UpdateCRC()
				if _, _, err := Validate(batch, r, at); err != nil {
					t.Fatal(err)
				}
			})
			if got != 0 {
				t.Errorf("%d B, %s: %v allocations", value, kind, got)
			}
		}
	}
}
