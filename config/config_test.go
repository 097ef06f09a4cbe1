package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func testSettings() []Setting {
	return []Setting{
		{Name: "format", Kind: Formats, Default: "text", Choices: []string{"text", "json"}},
		{Name: "fail-on", Default: "error", Choices: []string{"error", "warning"}},
		{Name: "baseline", Kind: Path},
		{Name: "predict", Kind: Bool, Default: "false"},
		{Name: "jobs", Kind: Count, Default: "0"},
		{Name: "timeout", Kind: Duration, Default: "0s"},
		{Name: "mpicc"},
	}
}

// project is a folder with a settings file, and one below it.
func project(t *testing.T, text string) (top, below string) {
	t.Helper()
	top = t.TempDir()
	below = filepath.Join(top, "src", "deep")
	require.NoError(t, os.MkdirAll(below, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(top, FileName), []byte(text), 0o600))
	return top, below
}

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestWhatIsInForce(t *testing.T) {
	top, below := project(t, "# ours\nfail-on: warning\nbaseline: ci/base.json\nformat:\n  - text\n  - json=out/r.json\njobs: 2\nmpicc:\n")
	env := map[string]string{"MCCHK_JOBS": "3", "MCCHK_TIMEOUT": "90s"}

	c, err := Load(testSettings(), below, environment(env))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(top, FileName), c.File)
	for name, want := range map[string]Value{
		"fail-on":  {[]string{"warning"}, FromFile, "../../.mcchk.yaml:2"},
		"baseline": {[]string{"../../ci/base.json"}, FromFile, "../../.mcchk.yaml:3"},
		"format":   {[]string{"text", "json=../../out/r.json"}, FromFile, "../../.mcchk.yaml:4"},
		"jobs":     {[]string{"3"}, FromEnv, "MCCHK_JOBS"},
		"timeout":  {[]string{"90s"}, FromEnv, "MCCHK_TIMEOUT"},
		"predict":  {[]string{"false"}, FromDefault, ""},
		"mpicc":    {nil, FromDefault, ""},
	} {
		require.Equal(t, want, c.Of(name), name)
	}

	c, err = Load(testSettings(), top, environment(map[string]string{"MCCHK_FORMAT": "json text=a.txt", "MCCHK_BASELINE": "b.json"}))
	require.NoError(t, err)
	require.Equal(t, Value{[]string{"json", "text=a.txt"}, FromEnv, "MCCHK_FORMAT"}, c.Of("format"))
	require.Equal(t, []string{"b.json"}, c.Of("baseline").Values, "in the environment as it is")
	require.Equal(t, ".mcchk.yaml:2", c.Of("fail-on").Where)
}

func TestNearestFile(t *testing.T) {
	top, below := project(t, "fail-on: warning\n")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(below), FileName), nil, 0o600))
	c, err := Load(testSettings(), below, environment(nil))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(top, "src", FileName), c.File)
	require.Equal(t, FromDefault, c.Of("fail-on").From, "files are not joined")
}

func TestFolderThatEverybodyMayWrite(t *testing.T) {
	top, below := project(t, "mpicc: evil\n")
	require.NoError(t, os.Chmod(top, 0o777|os.ModeSticky))
	c, err := Load(testSettings(), below, environment(nil))
	require.NoError(t, err)
	require.Empty(t, c.File)
}

func TestMistakesInTheFile(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "jobs: 1\nfail_on: error\n", `.mcchk.yaml: line 2: unknown key "fail_on" (did you mean fail-on?)`},
		{"nothing like it", "colour-of-the-sky: blue\n", `line 1: unknown key "colour-of-the-sky"`},
		{"twice", "jobs: 1\njobs: 2\n", "line 2: jobs stands in line 1 already"},
		{"choice", "fail-on: eror\n", `line 1: fail-on: "eror" is none of error, warning (did you mean error?)`},
		{"bool", "predict: maybe\n", `line 1: predict: "maybe" is none of true, false`},
		{"number", "jobs: -1\n", `line 1: jobs: "-1" is no number from 0 on`},
		{"duration", "timeout: 10\n", `line 1: timeout: "10" is no length of time`},
		{"format", "format: [text, jsn=x]\n", `line 1: format: "jsn" is none of text, json (did you mean json?)`},
		{"format's file", "format: json=\n", "the file is missing"},
		{"list", "fail-on: [error]\n", "line 1: not a single value"},
		{"no mapping", "- fail-on\n", "line 1: not of the form 'key: value'"},
		{"no YAML", "a: [\n", ".mcchk.yaml: yaml: line"},
		{"several", "a: 1\nb: 2\n", `.mcchk.yaml: line 2: unknown key "b"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			top, _ := project(t, test.text)
			_, err := Load(testSettings(), top, environment(nil))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestMistakesInTheEnvironment(t *testing.T) {
	for name, want := range map[string]string{
		"MCCHK_FAIL_ON": `MCCHK_FAIL_ON: "x" is none of error, warning`,
		"MCCHK_FORMAT":  `MCCHK_FORMAT: "x" is none of`,
		"MCCHK_JOBS":    `MCCHK_JOBS: "x" is no number`,
	} {
		_, err := Load(testSettings(), t.TempDir(), environment(map[string]string{name: "x"}))
		require.ErrorContains(t, err, want)
	}
}

func TestUnknownVariables(t *testing.T) {
	got := UnknownVariables(testSettings(), []string{"HOME=/", "MCCHK_JOBS=1", "MCCHK_FAILON=x", "MCCHK_CACHE=/c"}, []string{"MCCHK_CACHE"})
	require.Equal(t, []string{"MCCHK_FAILON (did you mean MCCHK_FAIL_ON?)"}, got)
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, FileName), 0o755), "a folder of that name is none")
	c, err := Load(testSettings(), dir, environment(nil))
	require.NoError(t, err)
	require.Empty(t, c.File)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("fail-on: warning\nformat: [text, json=a]\n"))
	f.Add([]byte("a: &a\n  b: *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Config{settings: testSettings(), values: map[string]Value{}}
		if c.parse(data, ".", FileName) == nil {
			for _, s := range testSettings() {
				require.NotEmpty(t, c.Of(s.Name).From)
			}
		}
	})
}
