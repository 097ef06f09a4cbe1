package tracer

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script runs a shell script in place of a launcher.
func script(t *testing.T, dir, text string) (Exit, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	var out bytes.Buffer
	exit, err := Run(ctx, RunOptions{Dir: dir, Command: []string{"sh", "-c", text}, Stdout: &out, Stderr: &out, Version: "1.2.3"})
	return exit, out.String(), err
}

const writeTrace = "touch $MCCHK_TRACE_DIR/rank-0.mcct; "

func TestRunTellsTheProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "traces")
	exit, out, err := script(t, dir, writeTrace+"echo $MCCHK_TRACE_DIR $MCCHK_RUN_ID")
	require.NoError(t, err)
	require.Zero(t, exit)
	words := strings.Fields(out)
	require.Len(t, words, 2)
	require.Equal(t, dir, words[0])
	require.Regexp(t, "^[0-9a-f]{32}$", words[1])

	record, err := ReadRunRecord(dir)
	require.NoError(t, err)
	require.Equal(t, words[1], record.Run)
	require.Equal(t, "1.2.3", record.Version)
	require.Equal(t, "sh", record.Command[0])
	require.NotNil(t, record.Exit)
	require.Zero(t, *record.Exit)
	require.False(t, record.End.Before(record.Start))

	_, second, err := script(t, dir, writeTrace+"echo $MCCHK_TRACE_DIR $MCCHK_RUN_ID")
	require.NoError(t, err)
	require.NotEqual(t, out, second, "each run has its own identifier")
}

func TestRunExitStatus(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		exit   Exit
		text   string
	}{
		"success":           {"exit 0", Exit{}, "exited with status 0"},
		"failure":           {"exit 7", Exit{Status: 7}, "exited with status 7"},
		"signal":            {"kill -KILL $$", Exit{137, syscall.SIGKILL}, "was ended by signal 9 (killed)"},
		"status of a child": {"sh -c 'kill -KILL $$'; exit $?", Exit{Status: 137}, "exited with status 137"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			exit, _, err := script(t, dir, writeTrace+c.script)
			require.NoError(t, err)
			require.Equal(t, c.exit, exit)
			require.Equal(t, c.text, exit.String())
			record, err := ReadRunRecord(dir)
			require.NoError(t, err)
			require.Equal(t, c.exit, Exit{*record.Exit, syscall.Signal(record.Signal)})
		})
	}
}

func TestRunWithoutTraces(t *testing.T) {
	exit, _, err := script(t, t.TempDir(), "exit 3")
	require.ErrorIs(t, err, ErrNoTraces)
	require.Equal(t, Exit{Status: 3}, exit)
}

func TestRunUnknownProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	_, err := Run(t.Context(), RunOptions{Dir: dir, Command: []string{"no-such-launcher-here"}})
	require.ErrorContains(t, err, "no-such-launcher-here")
	require.NoDirExists(t, dir)
	_, err = Run(t.Context(), RunOptions{Dir: dir})
	require.ErrorContains(t, err, "no program")
}

func TestRunTimeout(t *testing.T) {
	exit, err := Run(t.Context(), RunOptions{Dir: t.TempDir(), Command: []string{"sleep", "1000"}, Timeout: 50 * time.Millisecond})
	require.ErrorIs(t, err, ErrTimeout)
	require.Equal(t, syscall.SIGTERM, exit.Signal)
}

// A launcher that was ended, and says that all went well, did not come to its end.
func TestRunTimeoutOfALauncherThatSucceeds(t *testing.T) {
	exit, err := Run(t.Context(), RunOptions{
		Dir: t.TempDir(), Command: []string{"sh", "-c", `trap 'exit 0' TERM; while :; do sleep 0.02; done`}, Timeout: 200 * time.Millisecond,
	})
	require.ErrorIs(t, err, ErrTimeout)
	require.Equal(t, Exit{}, exit)
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	go func() {
		// The program says when it has begun.
		_, _ = read.Read(make([]byte, 1))
		cancel()
	}()
	_, err = Run(ctx, RunOptions{Dir: t.TempDir(), Command: []string{"sh", "-c", "echo; exec sleep 1000"}, Stdout: write})
	require.ErrorIs(t, err, context.Canceled)
}

func TestRunPassesSignalsOn(t *testing.T) {
	dir := t.TempDir()
	// The program asks its parent, this process, to end.
	exit, out, err := script(t, dir, writeTrace+`trap 'echo asked to end; exit 5' TERM; kill -TERM $PPID; while :; do :; done`)
	require.NoError(t, err)
	require.Equal(t, 5, exit.Status)
	require.Equal(t, "asked to end\n", out)
}

func TestTraceDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		left  []string // nil: refused
	}{
		"empty":                    {nil, []string{}},
		"earlier traces":           {[]string{"rank-0.mcct", "rank-12.mcct.zst", "run.json", "sources.json", "symbols.json"}, []string{}},
		"earlier run without any":  {[]string{"run.json"}, []string{}},
		"others beside traces":     {[]string{"rank-0.mcct", "notes.txt", "rank-x.mcct", "rank-1.mcct.bak"}, []string{"notes.txt", "rank-1.mcct.bak", "rank-x.mcct"}},
		"other files":              {[]string{"main.c"}, nil},
		"other files and symbols":  {[]string{"main.c", "symbols.json"}, nil},
		"somebody's sources":       {[]string{"sources.json"}, nil},
		"folder named like traces": {[]string{"rank-0.mcct/file"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, f), nil, 0o644))
			}
			err := prepareTraceDir(dir)
			entries, e := os.ReadDir(dir)
			require.NoError(t, e)
			left := []string{}
			for _, e := range entries {
				left = append(left, e.Name())
			}
			if c.left == nil {
				require.ErrorContains(t, err, "holds other files")
				require.Len(t, left, len(c.files), "nothing may be removed")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.left, left)
		})
	}
}

// A launcher that is ended must not leave its processes behind.
func TestRunEndsWhatTheLauncherLeaves(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	var out bytes.Buffer
	_, err := Run(t.Context(), RunOptions{
		Dir: filepath.Join(dir, "traces"), Timeout: time.Second, Stdout: &out, Stderr: &out,
		// The process ignores SIGTERM and is in a session of its own.
		Command: []string{"sh", "-c", `setsid sh -c 'trap "" TERM; echo $$ > ` + pidFile + `; while :; do sleep 1; done' & wait`},
	})
	require.ErrorIs(t, err, ErrTimeout)
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		status, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(text)), "stat"))
		return err != nil || strings.Contains(string(status), ") Z ") // gone, or not yet taken away by its parent
	}, 10*time.Second, 10*time.Millisecond)
}

// Several runs lie side by side, and leave nothing of those before them.
func TestRunDirs(t *testing.T) {
	dir := t.TempDir()
	run := func(number int) error {
		_, err := Run(t.Context(), RunOptions{Dir: dir, Number: number, Command: []string{"sh", "-c", writeTrace}})
		return err
	}
	require.NoError(t, run(0))
	require.Empty(t, RunDirs(dir))
	for number := range 11 {
		require.NoError(t, run(number+1))
	}
	dirs := RunDirs(dir)
	require.Len(t, dirs, 11)
	require.Equal(t, filepath.Join(dir, "run-2"), dirs[1], "by number")
	require.NoFileExists(t, filepath.Join(dir, "rank-0.mcct"))

	kept := filepath.Join(RunDir(dir, 3), "notes.txt")
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	require.NoError(t, run(1))
	require.Equal(t, []string{RunDir(dir, 1)}, RunDirs(dir))
	require.FileExists(t, kept, "nothing but traces is removed")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "run-x"), 0o755))
	require.Len(t, RunDirs(dir), 1)
	require.NoError(t, run(0))
	require.Empty(t, RunDirs(dir))
	require.FileExists(t, filepath.Join(dir, "rank-0.mcct"))
	require.Empty(t, RunDirs(filepath.Join(dir, "none")))
}
