//go:build compat

package differential

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/testserver"
)

var (
	kafkaAddr, ottlaAddr string
	suffix               = fmt.Sprintf("%x", time.Now().UnixNano()/1e6%1e10)
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	kafkaAddr = os.Getenv("OTTLA_DIFF_KAFKA")
	if kafkaAddr == "" {
		return m.Run(), nil
	}
	if ottlaAddr = os.Getenv("OTTLA_DIFF_OTTLA"); ottlaAddr == "" {
		dir, err := os.MkdirTemp("", "ottla-differential-")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		binary, err := testserver.Build(dir)
		if err != nil {
			return 1, err
		}
		srv, err := testserver.Start(binary, dir)
		if err != nil {
			return 1, err
		}
		defer srv.Kill()
		ottlaAddr = srv.Addr
	}
	code := m.Run()
	if whole := flag.Lookup("test.run").Value.String() == ""; whole && code == 0 {
		gaps, without := missing()
		if len(without) > 0 {
			fmt.Println("differential: there is no script yet for", without)
		}
		if len(gaps) > 0 {
			return 1, fmt.Errorf("never compared: %v", gaps)
		}
	}
	fmt.Printf("differential: %d answers in %d pairs of API and version compared, %d differences kept on purpose\n",
		tally.answers, len(tally.pairs), tally.kept)
	return code, nil
}

// both runs a script on Kafka and on ottla and compares what they recorded, beside other scripts.
func both(t *testing.T, script func(s *side)) {
	t.Helper()
	t.Parallel()
	alone(t, script)
}

// alone is both for a script that changes what others see.
func alone(t *testing.T, script func(s *side)) {
	t.Helper()
	if kafkaAddr == "" {
		t.Skip("OTTLA_DIFF_KAFKA names no Apache Kafka to compare with: compat-tests/run.sh starts one")
	}
	kafka, ottla := newSide(t, "kafka", kafkaAddr), newSide(t, "ottla", ottlaAddr)
	done := make(chan bool, 2)
	for _, s := range []*side{kafka, ottla} {
		go func() {
			finished := false
			defer func() { s.close(); done <- finished }()
			script(s)
			finished = true
		}()
	}
	if a, b := <-done, <-done; !a || !b {
		t.Errorf("a script ended early; what there is, is compared")
	}
	compare(t, kafka, ottla)
}

// missing are the versions ottla advertises that nothing was compared in, of APIs that have a script, and the
// APIs that have none.
func missing() (gaps, without []string) {
	s := newSide(nil, "ottla", ottlaAddr)
	defer s.close()
	for _, k := range s.versions() {
		var left []string
		for v := k.MinVersion; v <= k.MaxVersion; v++ {
			if !tally.pairs[pair{k.ApiKey, v}] {
				left = append(left, fmt.Sprintf("%s v%d", apiName(k.ApiKey), v))
			}
		}
		if len(left) == int(k.MaxVersion-k.MinVersion)+1 {
			without = append(without, apiName(k.ApiKey))
		} else {
			gaps = append(gaps, left...)
		}
	}
	return gaps, without
}
