package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// runDeleteRecords is kafka-delete-records: move the start of partitions to the offsets in a file.
func runDeleteRecords(e *env) int {
	p, code, done, err := e.parse("Deletes the records of partitions below the offsets that a file names.", []option{
		{name: "bootstrap-server", arg: requiredArg, hint: "server(s) to use for bootstrapping", doc: "REQUIRED: host:port of a broker, or several separated by commas."},
		{name: "offset-json-file", arg: requiredArg, hint: "Offset json file path", doc: "REQUIRED: the offsets, as in\n{\"partitions\":\n  [{\"topic\": \"foo\", \"partition\": 1, \"offset\": 1}],\n \"version\":1\n}\nOffset -1 is the end of the partition."},
		{name: "command-config", arg: requiredArg, hint: "command config property file path", doc: "Properties file with settings for the connection."},
	})
	if done {
		return code
	}
	if err == nil {
		err = firstError(requireAll(p, "bootstrap-server", "offset-json-file"))
	}
	if e.orUsage(p, err) {
		return 1
	}
	if err == nil {
		err = deleteRecords(e, p)
	}
	if err != nil {
		e.errorf("%s\n%s\n", err, trace(err))
		return 1
	}
	return 0
}

func deleteRecords(e *env, p *parsed) error {
	c, err := e.open(p.str("command-config"), p.str("bootstrap-server"))
	if err != nil {
		return err
	}
	defer c.close()
	path := p.str("offset-json-file")
	if p.err != nil {
		return p.err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return &javaError{class: "java.io.IOException", msg: "Unable to read file " + path, cause: fileError(path, err)}
	}
	order, offsets, err := parseDeletions(text)
	if err != nil {
		return err
	}
	e.println("Executing records delete operation")
	e.println("Records delete operation completed:")
	if len(order) == 0 {
		return nil
	}
	results, err := c.deleteRecords(order, offsets)
	for _, tp := range order {
		r, ok := results[tp]
		switch {
		case err != nil:
			e.printf("partition: %s\terror: %s: %s\n", tp, className(err), err)
		case !ok:
			e.printf("partition: %s\terror: no broker answered for it\n", tp)
		case r.err != nil:
			e.printf("partition: %s\terror: %s: %s\n", tp, className(r.err), r.err)
		default:
			e.printf("partition: %s\tlow_watermark: %d\n", tp, r.offset)
		}
	}
	return nil
}

// deletion is an element of the file. Pointers tell a missing field from a zero.
type deletion struct {
	Topic     *string `json:"topic"`
	Partition *int32  `json:"partition"`
	Offset    *int64  `json:"offset"`
}

// parseDeletions reads the file of --offset-json-file: which partitions, in the file's order, and their offsets.
func parseDeletions(text []byte) ([]protocol.TopicPartition, map[protocol.TopicPartition]int64, error) {
	const operation = "org.apache.kafka.tools.AdminOperationException"
	if !json.Valid(text) {
		return nil, nil, &javaError{class: operation, msg: "The input string is not a valid JSON"}
	}
	var doc struct {
		Version    *int        `json:"version"`
		Partitions *[]deletion `json:"partitions"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, nil, &javaError{class: "com.fasterxml.jackson.databind.JsonMappingException",
			msg: "The offsets do not have the expected form: " + err.Error()}
	}
	if doc.Version != nil && *doc.Version != 1 {
		return nil, nil, &javaError{class: operation, msg: fmt.Sprintf("Not supported version field value %d", *doc.Version)}
	}
	if doc.Partitions == nil {
		return nil, nil, &javaError{class: operation, msg: "Missing partitions field"}
	}
	var order []protocol.TopicPartition
	var twice []string
	offsets := map[protocol.TopicPartition]int64{}
	for _, d := range *doc.Partitions {
		if d.Topic == nil || d.Partition == nil || d.Offset == nil {
			return nil, nil, &javaError{class: "com.fasterxml.jackson.databind.JsonMappingException",
				msg: "Every partition needs the fields topic, partition and offset"}
		}
		tp := protocol.TopicPartition{Topic: *d.Topic, Partition: *d.Partition}
		if _, ok := offsets[tp]; ok {
			twice = append(twice, tp.String())
			continue
		}
		offsets[tp] = *d.Offset
		order = append(order, tp)
	}
	if len(twice) > 0 {
		return nil, nil, &javaError{class: "org.apache.kafka.tools.AdminCommandFailedException",
			msg: "Offset json file contains duplicate topic partitions: " + strings.Join(twice, ",")}
	}
	return order, offsets, nil
}

// deleteRecords asks the leaders to delete below the offsets; the answers are the new starts.
func (c *cluster) deleteRecords(tps []protocol.TopicPartition, offsets map[protocol.TopicPartition]int64) (map[protocol.TopicPartition]offsetAnswer, error) {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, g := range byTopic(tps) {
		t := kmsg.NewDeleteRecordsRequestTopic()
		t.Topic = g.topic
		for _, n := range g.partitions {
			p := kmsg.NewDeleteRecordsRequestTopicPartition()
			p.Partition, p.Offset = n, offsets[protocol.TopicPartition{Topic: g.topic, Partition: n}]
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := request[*kmsg.DeleteRecordsResponse](c, "deleteRecords", req)
	if err != nil {
		return nil, err
	}
	results := map[protocol.TopicPartition]offsetAnswer{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			results[protocol.TopicPartition{Topic: t.Topic, Partition: p.Partition}] =
				offsetAnswer{p.LowWatermark, coded(p.ErrorCode, nil)}
		}
	}
	return results, nil
}
