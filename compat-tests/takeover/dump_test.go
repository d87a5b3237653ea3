//go:build compat

package takeover

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// dumpLog lets kafka-dump-log look at every file of the stopped directory and fails on what it complains of. Of the
// compacted partitions the gaps are no complaint.
func (s *site) dumpLog(compacted ...string) {
	s.t.Helper()
	kinds := map[string][]string{}
	must(s.t, filepath.WalkDir(s.data(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch ext := filepath.Ext(path); ext {
		case ".log", ".index", ".timeindex", ".snapshot", ".txnindex":
			if strings.HasSuffix(filepath.Dir(path), "-delete") {
				return nil
			}
			kinds[ext] = append(kinds[ext], path)
		}
		return nil
	}))
	for ext, files := range kinds {
		flags := map[string][]string{".log": {"--deep-iteration"}, ".index": {"--verify-index-only"}}[ext]
		out, errs := s.kafkaTool(slices.Concat([]string{"dump-log", "--files", strings.Join(files, ",")}, flags)...)
		for _, l := range strings.Split(out, "\n") {
			if strings.Contains(l, "isvalid: false") || strings.Contains(l, "invalid bytes") || strings.Contains(l, "Exception") {
				s.t.Errorf("kafka-dump-log: %s", l)
			}
		}
		complaints(s, errs, compacted)
	}
	if index := kinds[".index"]; len(index) > 0 {
		_, errs := s.kafkaTool("dump-log", "--index-sanity-check", "--files", strings.Join(append(index, kinds[".timeindex"]...), ","))
		complaints(s, errs, nil)
	}
}

// complaints are paragraphs: a headline that names the file, and lines with details below it. Two kinds are none to us,
// as Kafka's own files have them: that a segment does not begin at offset 0, and in compacted partitions gaps, and entries
// of the time index for batches that are empty now.
func complaints(s *site, errs string, compacted []string) {
	s.t.Helper()
	headline := ""
	for _, l := range strings.Split(errs, "\n") {
		if strings.HasPrefix(l, "Non-consecutive offsets in ") || strings.HasPrefix(l, "Found timestamp mismatch in ") {
			headline = l
			continue
		}
		ofCompaction := strings.Contains(l, " is followed by ") || strings.HasSuffix(l, ", log timestamp: -1")
		allowed := strings.HasPrefix(l, "  -1 is followed by ") || ofCompaction &&
			slices.ContainsFunc(compacted, func(c string) bool { return strings.Contains(headline, "/"+c+"-") })
		if l != "" && !allowed {
			s.t.Errorf("kafka-dump-log: %s %s", headline, l)
		}
	}
}
