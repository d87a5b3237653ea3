package record

// appendCompressed appends src, compressed, to dst. A codec that is not known is a fault of the
// caller's and compresses nothing.
func appendCompressed(dst, src []byte, codec Codec, l Levels) []byte {
	switch codec {
	case Gzip:
		return appendGzip(dst, src, l.Gzip)
	case Snappy:
		return appendSnappy(dst, src)
	case LZ4:
		return appendLZ4(dst, src, l.LZ4)
	case Zstd:
		return appendZstd(dst, src, l.Zstd)
	}
	return append(dst, src...)
}
