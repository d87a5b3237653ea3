//go:build compat

package stock

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// TestAcksSurviveKills: every value that the Java VerifiableProducer saw
// acknowledged is read back after ten SIGKILLs of the server, once each.
func TestAcksSurviveKills(t *testing.T) {
	srv := own(t)
	topic := "killed"
	kafka(t, "", "topics", "--bootstrap-server", srv.Addr, "--create", "--topic", topic, "--partitions", "1")
	producer := startKafka(t, "verifiable-producer", "--bootstrap-server", srv.Addr, "--topic", topic, "--max-messages", "-1", "--throughput", "2000", "--acks", "-1")
	acked := func() []string {
		var out []string
		for _, l := range producer.lines() {
			var e struct{ Name, Value string }
			if json.Unmarshal([]byte(l), &e) == nil && e.Name == "producer_send_success" {
				out = append(out, e.Value)
			}
		}
		return out
	}
	for range 10 {
		before := len(acked())
		deadline := time.Now().Add(60 * time.Second)
		for len(acked()) < before+500 {
			if time.Now().After(deadline) {
				t.Fatalf("no progress: %d acknowledged", before)
			}
			time.Sleep(20 * time.Millisecond) // polls another process's output
		}
		srv.Kill()
		if err := srv.Start(); err != nil {
			t.Fatal(err)
		}
	}
	producer.stop(t)
	want := acked()
	end := lines(kafka(t, "", "get-offsets", "--bootstrap-server", srv.Addr, "--topic", topic))
	var count int
	if _, err := fmt.Sscanf(end[0], topic+":0:%d", &count); err != nil {
		t.Fatal(err)
	}
	read := lines(kafka(t, "", "console-consumer", "--bootstrap-server", srv.Addr, "--topic", topic, "--from-beginning",
		"--max-messages", strconv.Itoa(count), "--timeout-ms", "30000"))
	seen := map[string]int{}
	for _, v := range read {
		seen[v]++
	}
	lost, twice := 0, 0
	for _, v := range want {
		if seen[v] == 0 {
			lost++
		}
	}
	for _, n := range seen {
		if n > 1 {
			twice++
		}
	}
	fmt.Fprintf(os.Stderr, "10 SIGKILLs: %d acknowledged, %d read, %d lost, %d twice\n", len(want), len(read), lost, twice)
	if lost > 0 || twice > 0 {
		t.Errorf("%d acknowledged values lost, %d read twice", lost, twice)
	}
}
