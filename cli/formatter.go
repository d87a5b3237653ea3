package cli

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

const consumerTools = "org.apache.kafka.tools.consumer."

// formatter writes records to stdout.
type formatter interface {
	write(w io.Writer, r *kgo.Record) error
}

// newFormatter makes the formatter that --formatter names, by the name of Kafka's class.
func newFormatter(e *env, class string, props clientConfig) (formatter, error) {
	switch strings.TrimPrefix(class, consumerTools) {
	case "DefaultMessageFormatter":
		return newDefaultFormatter(e, props), nil
	case "LoggingMessageFormatter":
		// Kafka's also logs every record at a level that its tools do not show.
		return newDefaultFormatter(e, props), nil
	case "NoOpMessageFormatter":
		return noFormatter{}, nil
	case "OffsetsMessageFormatter":
		return coordinatorFormatter{offsets: true}, nil
	case "GroupMetadataMessageFormatter":
		return coordinatorFormatter{groups: true}, nil
	}
	return nil, &usageError{class}
}

type noFormatter struct{}

func (noFormatter) write(io.Writer, *kgo.Record) error { return nil }

// defaultFormatter writes the fields that print.* turned on, separated by key.separator, ended by line.separator.
type defaultFormatter struct {
	timestamp, partition, offset, delivery, epoch, headers, key, value bool
	separator, line, headerSeparator, null                             string
	decodeKey, decodeValue, decodeHeader                               deserializer
}

func newDefaultFormatter(e *env, props clientConfig) *defaultFormatter {
	props = clientConfig{"print.value": "true", "key.separator": "\t", "line.separator": "\n", "headers.separator": ",",
		"null.literal": "null"}.with(props)
	yes := func(key string) bool { return strings.EqualFold(strings.TrimSpace(props[key]), "true") }
	return &defaultFormatter{
		timestamp: yes("print.timestamp"), partition: yes("print.partition"), offset: yes("print.offset"),
		delivery: yes("print.delivery"), epoch: yes("print.epoch"), headers: yes("print.headers"),
		key: yes("print.key"), value: yes("print.value"),
		separator: props["key.separator"], line: props["line.separator"],
		headerSeparator: props["headers.separator"], null: props["null.literal"],
		decodeKey:    e.deserializerNamed(props["key.deserializer"]),
		decodeValue:  e.deserializerNamed(props["value.deserializer"]),
		decodeHeader: e.deserializerNamed(props["headers.deserializer"]),
	}
}

// write writes one record. An error is a field that its deserializer cannot read.
func (f *defaultFormatter) write(w io.Writer, r *kgo.Record) error {
	var b []byte
	field := func(last bool) {
		if last {
			b = append(b, f.line...)
		} else {
			b = append(b, f.separator...)
		}
	}
	if f.timestamp {
		b = appendTimestamp(b, r)
		field(!(f.partition || f.offset || f.delivery || f.epoch || f.headers || f.key || f.value))
	}
	if f.partition {
		b = strconv.AppendInt(append(b, "Partition:"...), int64(r.Partition), 10)
		field(!(f.offset || f.delivery || f.epoch || f.headers || f.key || f.value))
	}
	if f.offset {
		b = strconv.AppendInt(append(b, "Offset:"...), r.Offset, 10)
		field(!(f.delivery || f.epoch || f.headers || f.key || f.value))
	}
	if f.delivery { // only share groups count deliveries
		b = append(b, "Delivery:NOT_PRESENT"...)
		field(!(f.epoch || f.headers || f.key || f.value))
	}
	if f.epoch { // Kafka's tool drops the epoch before it formats
		b = append(b, "Epoch:NOT_PRESENT"...)
		field(!(f.headers || f.key || f.value))
	}
	var err error
	if f.headers {
		if b, err = f.appendHeaders(b, r.Headers); err != nil {
			return err
		}
		field(!(f.key || f.value))
	}
	if f.key {
		if b, err = f.appendField(b, r.Key, f.decodeKey); err != nil {
			return err
		}
		field(!f.value)
	}
	if f.value {
		if b, err = f.appendField(b, r.Value, f.decodeValue); err != nil {
			return err
		}
		field(true)
	}
	_, err = w.Write(b)
	return err
}

func appendTimestamp(b []byte, r *kgo.Record) []byte {
	switch r.Attrs.TimestampType() {
	case 0:
		b = append(b, "CreateTime:"...)
	case 1:
		b = append(b, "LogAppendTime:"...)
	default:
		return append(b, "NO_TIMESTAMP"...)
	}
	return strconv.AppendInt(b, r.Timestamp.UnixMilli(), 10)
}

func (f *defaultFormatter) appendHeaders(b []byte, headers []kgo.RecordHeader) ([]byte, error) {
	if len(headers) == 0 {
		return append(b, "NO_HEADERS"...), nil
	}
	var err error
	for i, h := range headers {
		if i > 0 {
			b = append(b, f.headerSeparator...)
		}
		b = append(append(b, h.Key...), ':')
		if b, err = f.appendField(b, h.Value, f.decodeHeader); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendField writes a key or value. The text for null goes through the deserializer too, as in Kafka.
func (f *defaultFormatter) appendField(b, field []byte, decode deserializer) ([]byte, error) {
	if field == nil {
		field = []byte(f.null)
	}
	if decode == nil {
		return append(b, field...), nil
	}
	text, err := decode(field)
	return append(b, text...), err
}

// deserializer turns the bytes of a key or value into text.
type deserializer func([]byte) (string, error)

// deserializerNamed finds the deserializer for the name of one of Kafka's classes. An unknown one is an error on
// stderr and the bytes are written as they are, as in Kafka.
func (e *env) deserializerNamed(class string) deserializer {
	if class == "" {
		return nil
	}
	sized := func(name string, size int, text func([]byte) string) deserializer {
		return func(b []byte) (string, error) {
			if len(b) != size {
				return "", &javaError{class: kafkaErrors + "SerializationException",
					msg: fmt.Sprintf("Size of data received by %s is not %d", name, size)}
			}
			return text(b), nil
		}
	}
	name := strings.TrimPrefix(class, "org.apache.kafka.common.serialization.")
	switch name {
	case "StringDeserializer":
		return func(b []byte) (string, error) { return string(b), nil }
	case "IntegerDeserializer":
		return sized(name, 4, func(b []byte) string { return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b)))) })
	case "LongDeserializer":
		return sized(name, 8, func(b []byte) string { return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10) })
	case "ShortDeserializer":
		return sized(name, 2, func(b []byte) string { return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b)))) })
	case "DoubleDeserializer":
		return sized("Deserializer", 8, func(b []byte) string { return javaDouble(math.Float64frombits(binary.BigEndian.Uint64(b)), 64) })
	case "FloatDeserializer":
		return sized("Deserializer", 4, func(b []byte) string {
			return javaDouble(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 32)
		})
	case "BooleanDeserializer":
		return sized(name, 1, func(b []byte) string { return strconv.FormatBool(b[0] != 0) })
	case "UUIDDeserializer":
		return func(b []byte) (string, error) { return string(b), nil }
	}
	e.log("ERROR", consumerTools+"DefaultMessageFormatter", "Unable to instantiate a deserializer from "+class)
	return nil
}

// javaDouble writes a floating point number the way Java does: at least one digit after the point, E for powers.
func javaDouble(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	if abs := math.Abs(v); v == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(v, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, bits), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exp) // FormatFloat wrote it
	return mantissa + "E" + strconv.Itoa(n)
}
