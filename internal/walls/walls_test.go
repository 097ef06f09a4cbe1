// Package walls holds the import graph of the module against docs/design.md.
package walls

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "github.com/mcchk/mcchk/"
)

// TestImportsAgainstDesign: packages import one another as docs/design.md says, and
// it names them all.
func TestImportsAgainstDesign(t *testing.T) {
	d := readDesign(t)
	code, tests := readImports(t)
	require.Greater(t, len(code), 20)
	require.Contains(t, code["core"], "regions")
	require.Contains(t, d.models, "mpi")
	require.Empty(t, d.violations(code, tests))
}

// TestViolationsAreSeen: what must not be is seen.
func TestViolationsAreSeen(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"core", "mpi", "core must import no model, not mpi"},
		{"core", "mpi/judge", "core must import no model, not mpi/judge"},
		{"regions", "core", "regions must import only evc, intervals and trace, not core"},
		{"evc", "trace", "evc must import nothing of ours, not trace"},
		{"intervals", "evc", "intervals must import nothing of ours, not evc"},
		{"analysis", "cmd/mcchk", "analysis must import neither cmd nor report, not cmd/mcchk"},
		{"gate", "report", "gate must import neither cmd nor report, not report"},
		{"shmem", "mpi", "shmem must import no other model, not mpi"},
		{"mpi/words", "shmem", "mpi/words must import no other model, not shmem"},
		{"timeline", "trace", "timeline imports trace, which the table of imports in docs/design.md does not let it"},
		{"novel", "", "novel is not in the table of packages in docs/design.md"},
		{"novel/part", "", "novel/part is not in the table of packages in docs/design.md"},
	} {
		t.Run(c.from+" "+c.to, func(t *testing.T) {
			d := readDesign(t)
			d.packages["shmem"], d.imports["shmem"] = true, nil
			d.models = append(d.models, "shmem")
			code, tests := readImports(t)
			code["shmem"] = append(code["shmem"], "core")
			if code[c.from] = slices.Clone(code[c.from]); c.to != "" {
				code[c.from] = append(code[c.from], c.to)
			}
			require.Contains(t, d.violations(code, tests), c.want)
		})
	}
	d := readDesign(t)
	code, tests := readImports(t)
	tests["core"] = append(slices.Clone(tests["core"]), "mpi")
	require.Equal(t, []string{"the tests of core must import no model, not mpi"}, d.violations(code, tests))
	d.packages["lost"] = true
	require.Contains(t, d.violations(code, tests), "docs/design.md has package lost, which does not exist")
}

// design is what docs/design.md says of packages.
type design struct {
	packages map[string]bool     // in the table of packages
	models   []string            // of them: "the model of …"
	imports  map[string][]string // what each may import, from the table of imports
}

var (
	row  = regexp.MustCompile("^\\| (`[^|]*) \\| ([^|]*) \\|")
	name = regexp.MustCompile("`([^`]+)`")
)

// readDesign reads the two tables.
func readDesign(t *testing.T) design {
	text, err := os.ReadFile(filepath.Join(root, "docs/design.md"))
	require.NoError(t, err)
	d := design{packages: map[string]bool{}, imports: map[string][]string{}}
	table := ""
	for line := range strings.Lines(string(text)) {
		if head, ok := strings.CutPrefix(line, "| package | "); ok {
			table, _, _ = strings.Cut(head, " |")
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			if !strings.HasPrefix(line, "|") {
				table = ""
			}
			continue
		}
		for _, p := range names(m[1]) {
			switch table {
			case "it is":
				d.packages[p] = true
				if strings.HasPrefix(m[2], "the model of ") {
					d.models = append(d.models, p)
				}
			case "may import":
				d.imports[p] = names(m[2])
			}
		}
	}
	return d
}

func names(cell string) (all []string) {
	for _, m := range name.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// readImports returns what each package imports of ours, and what its tests do.
func readImports(t *testing.T) (code, tests map[string][]string) {
	code, tests = map[string][]string{}, map[string][]string{}
	require.NoError(t, filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		base := filepath.Base(file)
		switch {
		case err != nil:
			return err
		case e.IsDir() && file != root && (base == "testdata" || base[0] == '.' || base[0] == '_'):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		pkg, into := filepath.ToSlash(dir), code
		if code[pkg] = append(code[pkg], ""); strings.HasSuffix(file, "_test.go") {
			into = tests
		}
		for _, spec := range f.Imports {
			if p, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ours {
				into[pkg] = append(into[pkg], p)
			}
		}
		return err
	}))
	for _, graph := range []map[string][]string{code, tests} {
		for pkg, all := range graph {
			slices.Sort(all)
			graph[pkg] = slices.DeleteFunc(slices.Compact(all), func(p string) bool { return p == "" })
		}
	}
	return code, tests
}

// violations says what is not as it must be.
func (d design) violations(code, tests map[string][]string) (all []string) {
	for _, pkg := range slices.Sorted(maps.Keys(code)) {
		if covering(d.packages, pkg) == "" {
			all = append(all, pkg+" is not in the table of packages in docs/design.md")
		}
		for _, to := range code[pkg] {
			if said := d.wall(pkg, to); said != "" {
				all = append(all, fmt.Sprintf("%s must %s, not %s", pkg, said, to))
			}
			if !slices.Contains(d.imports[covering(d.imports, pkg)], to) {
				all = append(all, fmt.Sprintf("%s imports %s, which the table of imports in docs/design.md does not let it", pkg, to))
			}
		}
		// The tests of what knows no model get by without one.
		for _, to := range tests[pkg] {
			if said := d.wall(pkg, to); to != pkg && said != "" && slices.Contains([]string{"core", "regions", "evc", "intervals"}, pkg) {
				all = append(all, fmt.Sprintf("the tests of %s must %s, not %s", pkg, said, to))
			}
		}
	}
	for pkg := range d.packages {
		if _, exists := code[pkg]; !exists {
			all = append(all, fmt.Sprintf("docs/design.md has package %s, which does not exist", pkg))
		}
	}
	return all
}

// covering returns the row of a table that says what holds for a package: its own,
// or that of the package that it is a part of; "": there is none.
func covering[T any](table map[string]T, pkg string) string {
	for ; pkg != "."; pkg = path.Dir(pkg) {
		if _, has := table[pkg]; has {
			return pkg
		}
	}
	return ""
}

// wall returns what must hold, whatever the tables say, and does not where one
// package imports another; otherwise "".
func (d design) wall(from, to string) string {
	model, other := d.model(from), d.model(to)
	switch {
	case from == "evc" || from == "intervals":
		return "import nothing of ours"
	case from == "regions" && !slices.Contains([]string{"evc", "intervals", "trace"}, to):
		return "import only evc, intervals and trace"
	case from == "core" && other != "":
		return "import no model"
	case model != "" && other != "" && model != other:
		return "import no other model"
	case top(from) != "cmd" && (top(to) == "cmd" || top(to) == "report"):
		return "import neither cmd nor report"
	}
	return ""
}

// model returns the model that a package is, or is a part of; "": none.
func (d design) model(pkg string) string {
	if slices.Contains(d.models, top(pkg)) {
		return top(pkg)
	}
	return ""
}

func top(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}
