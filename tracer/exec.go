package tracer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// tools starts other programs in one directory with one environment.
type tools struct {
	dir     string // "" for the current one
	env     []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	waiting io.Writer // is told what takes long; nil: nobody is
}

// wait says what is done before the user's command goes on.
func (t *tools) wait(format string, args ...any) {
	if t.waiting != nil {
		fmt.Fprintf(t.waiting, "mcchk: "+format+"\n", args...)
	}
}

// command prepares a program found by look.
func (t *tools) command(ctx context.Context, path string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = t.dir
	cmd.Env = t.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // launchers, wrappers and drivers then end what they have started
	cmd.WaitDelay = killDelay
	return cmd
}

// run starts a program with our standard streams and returns its exit status.
// The error is only for programs that could not be started or were cancelled.
func (t *tools) run(ctx context.Context, argv []string) (int, error) {
	cmd := t.command(ctx, argv[0], argv[1:])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.stdin, t.stdout, t.stderr
	return exitStatus(ctx, cmd.Run())
}

// exitStatus turns the outcome of a command into its exit status, 128 + n
// when signal n ended it.
func exitStatus(ctx context.Context, err error) (int, error) {
	if ctx.Err() != nil {
		return 1, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // it ended well, and what it leaves running has its streams
			return 1, err
		}
		return 0, nil
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// output runs a program and returns what it wrote to its two streams; a
// failure is an error with the first lines of the second.
func (t *tools) output(ctx context.Context, stdin string, argv ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := t.command(ctx, argv[0], argv[1:])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), errs.String(), fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, firstLines(errs.String(), 20))
	}
	return out.String(), errs.String(), nil
}

func firstLines(s string, n int) string {
	lines := strings.SplitAfterN(strings.TrimRight(s, "\n"), "\n", n+1)
	if len(lines) > n {
		lines = lines[:n]
	}
	return strings.Join(lines, "")
}

// getenv returns the value of a variable in the tools' environment, "" when unset.
func (t *tools) getenv(name string) string {
	for i := len(t.env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(t.env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// look finds a program as a shell would, with the tools' PATH, and returns an
// absolute path.
func (t *tools) look(name string) (string, error) {
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(within(t.dir, name))
		if err != nil {
			return "", err
		}
		return path, executable(path)
	}
	for _, dir := range filepath.SplitList(t.getenv("PATH")) {
		path, err := filepath.Abs(within(t.dir, filepath.Join(dir, name)))
		if err == nil && executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s: %w", path, os.ErrPermission)
	}
	return nil
}
