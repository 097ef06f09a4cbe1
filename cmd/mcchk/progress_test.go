package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/synth"
)

func TestProgressLine(t *testing.T) {
	for _, tt := range []struct {
		name  string
		at    analysis.Progress
		since time.Duration
		want  string
	}{
		{"begun", analysis.Progress{Read: 10, Bytes: 1000}, 0, "analysing: 1 % of 1000 bytes read, 0 concurrent regions"},
		{"under way", analysis.Progress{Regions: 1, Read: 1 << 30, Bytes: 4 << 30}, 10 * time.Second, "analysing: 25 % of 4.0 GiB read, 1 concurrent region, about 30s left"},
		{"all read", analysis.Progress{Regions: 7, Read: 2048, Bytes: 2048}, time.Minute, "analysing: 100 % of 2.0 KiB read, 7 concurrent regions"},
		{"nothing known", analysis.Progress{Regions: 7}, time.Minute, "analysing: 7 concurrent regions"},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, progressLine(tt.at, tt.since)) })
	}
}

func TestProgressIsRare(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out}
	for i := range 1000 {
		p.last = time.Now() // as if just written
		p.update(analysis.Progress{Regions: i})
	}
	require.Empty(t, out.String())
	p.last = time.Time{}
	p.update(analysis.Progress{Regions: 5})
	p.clear()
	require.Equal(t, "\r\x1b[Kmcchk: analysing: 5 concurrent regions\r\x1b[K", out.String())

	quiet, _, diag := testApp()
	p = quiet.newProgress()
	p.update(analysis.Progress{})
	p.clear()
	require.Empty(t, diag.String(), "no terminal")
}

// terminal returns both ends of a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err, "mount /dev/pts")
	t.Cleanup(func() { master.Close() })
	control := func(request uintptr, arg *int32) {
		_, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(arg)))
		require.Zero(t, e)
	}
	var unlock, number int32
	control(syscall.TIOCSPTLCK, &unlock)
	control(syscall.TIOCGPTN, &number)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestInterruptedAnalysis: an analysis on a terminal shows how far it is; a real
// SIGINT ends it with a report and status 3.
func TestInterruptedAnalysis(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "traces")
	// Compared pairwise, this would take hours.
	_, err := synth.Generate(ctx, dir, synth.Config{Pattern: "hot-counter", Ranks: 4, Accesses: 400_000})
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "mcchk")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, program))

	master, slave := terminal(t)
	cmd := exec.CommandContext(ctx, program, "analyze", "--pairwise", dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, slave
	require.NoError(t, cmd.Start())
	require.NoError(t, slave.Close())
	var said strings.Builder
	interrupted := false
	for buf := make([]byte, 4096); ; {
		n, err := master.Read(buf)
		said.Write(buf[:n])
		if !interrupted && strings.Contains(said.String(), "read, ") {
			interrupted = true
			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		}
		if err != nil { // the program has closed its end
			break
		}
	}
	err = cmd.Wait()
	require.NoError(t, ctx.Err())
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, said.String())
	require.Equal(t, exitFailure, exit.ExitCode(), said.String())
	require.Contains(t, said.String(), "mcchk: analysing: ")
	require.Contains(t, said.String(), "mcchk: interrupted; the report has the findings so far")
	require.Contains(t, out.String(), "caveat: the analysis was interrupted after ")
}
