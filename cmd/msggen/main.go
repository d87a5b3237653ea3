// Command msggen writes the Go types of package protocol/msg from the JSON
// schemas inside Apache Kafka's jars.
//
//	msggen -jars DIR -out DIR
//
// DIR of the jars defaults to $KAFKA_LIBS. The schemas themselves are not kept
// in this repository: only what is generated from them is.
package main

import (
	"archive/zip"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// group is one generated file: which jar it comes from and which schemas of it.
type group struct {
	file string   // zz_generated_<file>.go
	fn   string   // when set, a constructor by record id is generated under this name
	jar  string   // jar name without version
	keep []string // schema names; empty keeps all that have a record id
}

// groups lists everything that is generated. RPCs are not: kmsg has them.
var groups = []group{
	{file: "metadata", fn: "MetadataRecord", jar: "kafka-metadata"},
	{file: "group", fn: "Group", jar: "kafka-group-coordinator"},
	{file: "share", fn: "Share", jar: "kafka-share-coordinator"},
	{file: "transaction", fn: "Transaction", jar: "kafka-transaction-coordinator"},
	{file: "storage", jar: "kafka-storage", keep: []string{"ProducerSnapshot"}},
	{file: "control", jar: "kafka-clients", keep: []string{
		"AbortedTxn", "ControlRecordTypeSchema", "DefaultPrincipalData", "EndTxnMarker", "KRaftVersionRecord",
		"LeaderChangeMessage", "SnapshotFooterRecord", "SnapshotHeaderRecord", "VotersRecord",
	}},
}

func main() {
	jars := flag.String("jars", os.Getenv("KAFKA_LIBS"), "directory with Apache Kafka's jars")
	out := flag.String("out", ".", "directory the Go files are written to")
	version := flag.String("kafka", "4.4.0", "version of the jars")
	flag.Parse()
	if err := run(*jars, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "msggen:", err)
		os.Exit(1)
	}
}

func run(jars, out, version string) error {
	if jars == "" {
		return fmt.Errorf("where are Kafka's jars? Give -jars or set KAFKA_LIBS")
	}
	var all []*schema
	for _, g := range groups {
		schemas, err := readJar(filepath.Join(jars, g.jar+"-"+version+".jar"), g.keep)
		if err != nil {
			return err
		}
		src, err := emitFile(g, version, schemas)
		if err != nil {
			return fmt.Errorf("%s: %w", g.file, err)
		}
		all = append(all, schemas...)
		name := filepath.Join(out, "zz_generated_"+g.file+".go")
		if err := os.WriteFile(name, src, 0o644); err != nil {
			return err
		}
	}
	list, err := emitTestList(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "zz_generated_all_test.go"), list, 0o644)
}

// readJar returns the jar's schemas in order of record id, then of name.
func readJar(file string, keep []string) ([]*schema, error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer z.Close()
	var all []*schema
	for _, f := range z.File {
		name := strings.TrimSuffix(path.Base(f.Name), ".json")
		if name == path.Base(f.Name) || len(keep) > 0 && !contains(keep, name) {
			continue
		}
		s, err := readSchema(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, f.Name, err)
		}
		if s.hasID() || len(keep) > 0 {
			all = append(all, s)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].APIKey != all[j].APIKey {
			return all[i].APIKey < all[j].APIKey
		}
		return all[i].Name < all[j].Name
	})
	return all, nil
}

func readSchema(f *zip.File) (*schema, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return parseSchema(raw)
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
