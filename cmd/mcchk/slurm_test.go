//go:build slurm

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const slurmConf = `ClusterName=test
SlurmctldHost=HOST(127.0.0.1)
SlurmctldPort=16827
SlurmdPort=16828
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool
SlurmctldPidFile=DIR/slurmctld.pid
SlurmdPidFile=DIR/slurmd.pid
SlurmctldLogFile=DIR/slurmctld.log
SlurmdLogFile=DIR/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
SlurmdParameters=config_overrides
NodeName=HOST NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=test Nodes=HOST Default=YES MaxTime=INFINITE State=UP
`

// slurm is a Slurm of this machine alone.
type slurm struct {
	t   *testing.T
	ctx context.Context
	dir string // where commands run
	env []string
}

func startSlurm(t *testing.T) *slurm {
	t.Helper()
	for _, program := range []string{"slurmctld", "slurmd", "srun", "sbatch"} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "install slurmctld, slurmd and slurm-client")
	}
	require.Zero(t, os.Geteuid(), "slurmd needs root")
	host, err := os.Hostname()
	require.NoError(t, err)
	host, _, _ = strings.Cut(host, ".")
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "state"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "spool"), 0o755))
	conf := filepath.Join(dir, "slurm.conf")
	require.NoError(t, os.WriteFile(conf, []byte(strings.NewReplacer("HOST", host, "DIR", dir).Replace(slurmConf)), 0o644))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)

	program := filepath.Join(dir, "mcchk")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, program))
	s := &slurm{t: t, ctx: ctx, dir: t.TempDir(), env: append(os.Environ(), "SLURM_CONF="+conf, "PATH="+dir+":"+os.Getenv("PATH"))}
	for _, daemon := range []string{"slurmctld", "slurmd"} {
		s.run(daemon, "-c", "-f", conf)
		t.Cleanup(func() { s.stop(filepath.Join(dir, daemon+".pid")) })
	}
	return s
}

// stop ends a daemon and waits until it is gone.
func (s *slurm) stop(pidFile string) {
	text, err := os.ReadFile(pidFile)
	require.NoError(s.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(s.t, err)
	require.NoError(s.t, syscall.Kill(pid, syscall.SIGTERM))
	require.Eventually(s.t, func() bool { return syscall.Kill(pid, 0) != nil }, 20*time.Second, 50*time.Millisecond)
}

func (s *slurm) run(command ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(s.t, err, &exit, "%s", out)
		require.Equal(s.t, exitFindings, exit.ExitCode(), "%v: %s", command, out)
	}
	return strings.TrimSpace(string(out))
}

// batch runs a script as a job and waits for it.
func (s *slurm) batch(script string, options ...string) {
	s.t.Helper()
	s.run(append(append([]string{"sbatch", "--wait", "-o", "job.%j.out"}, options...), "--wrap", script)...)
}

func (s *slurm) same(a, b string) {
	s.t.Helper()
	x, err := os.ReadFile(filepath.Join(s.dir, a))
	require.NoError(s.t, err)
	y, err := os.ReadFile(filepath.Join(s.dir, b))
	require.NoError(s.t, err)
	require.Equal(s.t, string(x), string(y))
	require.NotEmpty(s.t, x)
}

// TestSlurm does what docs/cluster.md says, with a real Slurm.
func TestSlurm(t *testing.T) {
	s := startSlurm(t)
	s.run("mcchk", "generate", "--pattern", "halo", "--sync", "messages", "--ranks", "4", "--accesses", "20000", "--races", "3", "-o", "traces")
	s.run("mcchk", "analyze", "traces", "--format", "json=whole.json")

	said := s.run("srun", "-n", "2", "mcchk", "analyze", "traces", "-o", "part")
	require.Contains(t, said, "part 1/2 of the analysis is in part.1-of-2")
	s.run("mcchk", "merge", "part.1-of-2", "part.2-of-2", "--format", "json=srun.json")
	s.same("srun.json", "whole.json")

	s.batch("exec mcchk analyze --shard $SLURM_ARRAY_TASK_ID/3 traces -o array.$SLURM_ARRAY_TASK_ID", "--array=1-3")
	s.run("mcchk", "merge", "array.1", "array.2", "array.3", "--format", "json=array.json")
	s.same("array.json", "whole.json")

	// One huge region, of which each task has the memory of half of the processes.
	s.run("mcchk", "generate", "--pattern", "random", "--ranks", "8", "--steps", "1", "--accesses", "300000", "--races", "5", "-o", "huge")
	s.run("mcchk", "analyze", "huge", "--format", "json=huge.json", "--format", "text=huge.txt")
	s.run("srun", "-n", "2", "mcchk", "analyze", "huge", "-o", "half")
	s.run("mcchk", "merge", "half.1-of-2", "half.2-of-2", "--format", "json=halves.json", "--format", "text=halves.txt")
	s.same("halves.json", "huge.json")
	s.same("halves.txt", "huge.txt")

	// Without srun, a job's script analyses all, however many tasks it has.
	s.batch("mcchk analyze traces --format json=job.json --fail-on never", "-n", "2")
	s.same("job.json", "whole.json")
	require.NoFileExists(t, filepath.Join(s.dir, fmt.Sprintf("%s.1-of-2", defaultPartial)))
}
