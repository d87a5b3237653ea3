package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// runBrokerAPIVersions is kafka-broker-api-versions: what requests each broker answers, in which versions.
func runBrokerAPIVersions(e *env) int {
	p, code, done, err := e.parse("Shows which requests each broker answers, and in which versions.", []option{
		{name: "bootstrap-server", arg: requiredArg, hint: "server(s) to use for bootstrapping", doc: "REQUIRED: host:port of a broker, or several separated by commas."},
		{name: "command-config", arg: requiredArg, hint: "command config property file", doc: "Properties file with settings for the connection."},
	})
	if done {
		return code
	}
	if err == nil {
		err = requireAll(p, "bootstrap-server")
	}
	if e.orUsage(p, err) {
		return 1
	}
	if err == nil {
		err = brokerAPIVersions(e, p)
	}
	if err != nil {
		e.errorf("%s\n%s\n", err, trace(err))
		return 1
	}
	return 0
}

func brokerAPIVersions(e *env, p *parsed) error {
	c, err := e.open(p.str("command-config"), p.str("bootstrap-server"))
	if err != nil {
		return err
	}
	defer c.close()
	meta, err := request[*kmsg.MetadataResponse](c, "listNodes", kmsg.NewPtrMetadataRequest())
	if err != nil {
		return err
	}
	slices.SortFunc(meta.Brokers, func(a, b kmsg.MetadataResponseBroker) int { return cmp.Compare(a.NodeID, b.NodeID) })
	for _, b := range meta.Brokers {
		rack := "null"
		if b.Rack != nil {
			rack = *b.Rack
		}
		e.printf("%s:%d (id: %d rack: %s isFenced: false) -> ", b.Host, b.Port, b.NodeID, rack)
		keys, err := c.apiVersions(c.cl.Broker(int(b.NodeID)))
		if err != nil {
			e.printf("ERROR: %s\n", err)
			continue
		}
		e.println(formatAPIVersions(keys))
	}
	return nil
}

// apiVersions asks one node what it answers.
func (c *cluster) apiVersions(b *kgo.Broker) ([]kmsg.ApiVersionsResponseApiKey, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "ottla", kafkaVersion
	resp, err := b.RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	versions := resp.(*kmsg.ApiVersionsResponse)
	return versions.ApiKeys, coded(versions.ErrorCode, nil)
}

// formatAPIVersions lists what a node answers, in the order of the keys, with the newest version that Kafka 4.4 can
// use, and what brokers of Kafka 4.4 answer but the node does not.
func formatAPIVersions(node []kmsg.ApiVersionsResponseApiKey) string {
	lines := map[int16]string{}
	for _, k := range node {
		lines[k.ApiKey] = formatAPIVersion(k)
	}
	for _, a := range protocol.APIs() {
		if _, ok := lines[a.Key]; !ok && a.Listeners&protocol.ScopeBroker != 0 {
			lines[a.Key] = fmt.Sprintf("%s(%d): UNSUPPORTED", a.Name, a.Key)
		}
	}
	var keys []int16
	for k := range lines {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b strings.Builder
	for i, k := range keys {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n\t" + lines[k])
	}
	return "(" + b.String() + "\n)"
}

func formatAPIVersion(k kmsg.ApiVersionsResponseApiKey) string {
	span := fmt.Sprint(k.MinVersion)
	if k.MaxVersion != k.MinVersion {
		span += fmt.Sprintf(" to %d", k.MaxVersion)
	}
	a, known := protocol.APIOf(k.ApiKey)
	switch {
	case !known:
		return fmt.Sprintf("UNKNOWN(%d): %s", k.ApiKey, span)
	case a.Max < k.MinVersion:
		return fmt.Sprintf("%s(%d): %s [unusable: node too new]", a.Name, k.ApiKey, span)
	case k.MaxVersion < a.Min:
		return fmt.Sprintf("%s(%d): %s [unusable: node too old]", a.Name, k.ApiKey, span)
	}
	return fmt.Sprintf("%s(%d): %s [usable: %d]", a.Name, k.ApiKey, span, min(a.Max, k.MaxVersion))
}
