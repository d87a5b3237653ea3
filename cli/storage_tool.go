package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// runStorage is kafka-storage: format log directories and say what is in them.
func runStorage(e *env) int {
	ns, err := parseCommand(storageCommand(), e.args)
	code := 0
	if err == nil {
		code, err = storageAction(e, ns)
	}
	var bad *argError
	var short *terse
	switch {
	case err == nil:
		return code
	case errors.As(err, &bad):
		e.complain(bad)
		if bad.help {
			return 0
		}
	case errors.As(err, &short):
		e.errorln(short.msg)
	default:
		e.errorf("Exception in thread \"main\" %s", trace(err))
	}
	return 1
}

func storageCommand() command {
	file := argument{names: []string{"--config", "-c"}, required: true, help: "The server's properties file."}
	release := argument{names: []string{"--release-version", "-r"}, help: "Levels of all features as in this release, as in 4.0-IV3."}
	level := argument{names: []string{"--feature", "-f"}, help: "A feature and its level, as in kraft.version=1; may be repeated."}
	needed := level
	needed.required = true
	return command{name: "kafka-storage", help: "Formats log directories and shows what is in them.", subs: []command{
		{name: "info", help: "Show the log directories of this node.", args: []argument{file}},
		{name: "format", help: "Format the log directories of this node.", args: []argument{file,
			{names: []string{"--cluster-id", "-t"}, required: true, help: "The cluster's id."},
			{names: []string{"--add-scram", "-S"}, help: "Is refused: credentials at format are not built yet, kafka-configs adds them later."},
			{names: []string{"--ignore-formatted", "-g"}, flag: true, help: "Leave directories that are formatted as they are."},
			release, level,
			{names: []string{"--standalone", "-s"}, flag: true, group: "quorum", help: "The only controller of a quorum that can grow."},
			{names: []string{"--no-initial-controllers", "-N"}, flag: true, group: "quorum", help: "A controller that is to be added to a quorum later."},
			{names: []string{"--initial-controllers", "-I"}, group: "quorum", help: "The first controllers of a quorum that can grow, id@host:port:directory-id separated by commas."}}},
		{name: "version-mapping", help: "Show which levels of features a release has.", args: []argument{release}},
		{name: "feature-dependencies", help: "Show what a level of a feature needs.", args: []argument{needed}},
		{name: "random-uuid", help: "Print a random id."},
	}}
}

func storageAction(e *env, ns *namespace) (int, error) {
	switch ns.command {
	case "random-uuid":
		e.println(protocol.NewUUID())
		return 0, nil
	case "version-mapping":
		return 0, printVersionMapping(e, ns.str("release-version"))
	case "feature-dependencies":
		levels, err := parseStorageLevels(ns.values["feature"])
		if err != nil {
			return 0, err
		}
		return 0, printDependencies(e, levels)
	}
	static, err := loadServerConfig(ns.str("config"))
	if err != nil {
		return 0, err
	}
	if ns.command == "info" {
		return storageInfo(e, static), nil
	}
	return 0, formatStorage(e, static, ns)
}

// parseStorageLevels is parseLevels with the complaints of kafka-storage.
func parseStorageLevels(args []string) ([]featureLevel, error) {
	var levels []featureLevel
	for _, a := range args {
		name, text, ok := strings.Cut(a, "=")
		if !ok {
			return nil, &terse{"Invalid feature format: " + a + ". Expected format: 'feature=version' (e.g. 'group.version=1')"}
		}
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		n, err := strconv.ParseInt(text, 10, 16)
		if err != nil {
			return nil, &terse{"Invalid version format: " + text + " for feature " + name}
		}
		if f, ok := featureNamed(name); ok {
			if _, err := f.version(int16(n)); err != nil {
				return nil, &terse{fmt.Sprintf("Feature level %d is not supported for feature %s", n, name)}
			}
		}
		levels = append(levels, featureLevel{name, int16(n)})
	}
	return levels, nil
}

func loadServerConfig(path string) (*config.Static, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	props, err := config.ParseProperties(path, text)
	if err != nil {
		return nil, err
	}
	static, _, err := config.Load(props)
	return static, err
}

// logDirectories are the log directories and the metadata directory, sorted.
func logDirectories(c *config.Static) []string {
	dirs := slices.Clone(c.LogDirs)
	if c.MetadataLogDir != "" {
		dirs = append(dirs, c.MetadataLogDir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// storageInfo prints what is in the directories and what is wrong with them; it returns 1 if something is.
func storageInfo(e *env, c *config.Static) int {
	var found, problems []string
	var first *storage.MetaProperties
	for _, dir := range logDirectories(c) {
		info, err := os.Stat(dir)
		if err != nil {
			problems = append(problems, dir+" does not exist")
			continue
		}
		if !info.IsDir() {
			problems = append(problems, dir+" is not a directory")
			continue
		}
		found = append(found, dir)
		p, err := storage.ReadMetaProperties(vfs.OS(), dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, dir+" is not formatted.")
		case err != nil:
			problems = append(problems, "Error loading "+dir+"/meta.properties: "+err.Error())
		case first == nil:
			first = &p
		case first.ClusterID != p.ClusterID:
			problems = append(problems, "Mismatched cluster IDs between storage directories.")
		case first.NodeID != p.NodeID:
			problems = append(problems, "Mismatched node IDs between storage directories.")
		}
	}
	printList(e, "Found log directory:", "Found log directories:", found)
	if first != nil {
		directory := ""
		if !first.DirectoryID.IsZero() {
			directory = "directory.id=" + first.DirectoryID.String() + ", "
		}
		e.printf("Found metadata: {cluster.id=%s, %snode.id=%d, version=1}\n\n", first.ClusterID, directory, first.NodeID)
	}
	printList(e, "Found problem:", "Found problems:", problems)
	return min(1, len(problems))
}

func printList(e *env, one, several string, items []string) {
	switch len(items) {
	case 0:
		return
	case 1:
		e.println(one)
	default:
		e.println(several)
	}
	e.println("  " + strings.Join(items, "\n  ") + "\n")
}
