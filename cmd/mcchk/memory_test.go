package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
)

// TestMemoryHere: the least of what machine, control groups and Slurm give is what
// there is.
func TestMemoryHere(t *testing.T) {
	const machine = "MemTotal:        4194304 kB\nMemFree: 1 kB\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		slurm string
		want  int64
	}{
		{name: "nothing is known"},
		{name: "a machine", files: map[string]string{"proc/meminfo": machine}, want: 4 << 30},
		{name: "version 2", files: map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/user/job\n",
			"sys/fs/cgroup/user/job/memory.max": "max\n", "sys/fs/cgroup/user/memory.max": "1073741824\n",
		}, want: 1 << 30},
		{name: "version 2, in a container", files: map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/not/here\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, want: 512 << 20},
		{name: "version 1", files: map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "5:cpu:/job\n4:hugetlb,memory:/job\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "268435456\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory.max": "1\n",
		}, want: 256 << 20},
		{name: "Slurm", files: map[string]string{"proc/meminfo": machine}, slurm: "2000", want: 2000 << 20},
		{name: "Slurm gives all", files: map[string]string{"proc/meminfo": machine}, slurm: "0", want: 4 << 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			}
			getenv := func(name string) string { return map[string]string{"SLURM_MEM_PER_NODE": c.slurm}[name] }
			require.Equal(t, c.want, memoryHere(getenv, root))
		})
	}
}

// TestWhyInterrupted: what ended an analysis has its own words.
func TestWhyInterrupted(t *testing.T) {
	require.Empty(t, whyInterrupted(&analysis.Result{}))
	require.Equal(t, "interrupted", whyInterrupted(&analysis.Result{Interrupted: true}))
	res := &analysis.Result{Interrupted: true, Caveats: []analysis.Caveat{{Kind: analysis.TooLarge}}}
	require.Equal(t, "more memory was needed than --max-memory allows", whyInterrupted(res))
}

// TestLaunchedHere: processes that a launcher starts on one machine share its memory.
func TestLaunchedHere(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        int64
	}{
		{"", "", 1},
		{"OMPI_COMM_WORLD_LOCAL_SIZE", "4", 4},
		{"MPI_LOCALNRANKS", "3", 3},
		{"SLURM_STEP_TASKS_PER_NODE", "2", 2},
		{"SLURM_STEP_TASKS_PER_NODE", "8(x2),4", 8},
		{"SLURM_STEP_TASKS_PER_NODE", "some", 1},
	} {
		getenv := func(name string) string { return map[string]string{c.name: c.value}[name] }
		require.Equal(t, c.want, launchedHere(getenv), "%s=%s", c.name, c.value)
	}
}

// TestMemoryValue: what the flag says is what the analysis may take.
func TestMemoryValue(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	getenv := func(name string) string { return map[string]string{"SLURM_MEM_PER_NODE": "1000"}[name] }
	for _, c := range []struct {
		flag         string
		memory, heap int64
	}{
		{"auto", 500 << 20, (500 - 500.0/16 - 16) * (1 << 20)},
		{"0", 0, 0},
		{"256MiB", 256 << 20, 224 << 20},
		{"1MiB", 1 << 20, leastMemory},
	} {
		v := memoryValue{size: &sizeValue{}}
		require.NoError(t, v.Set(c.flag))
		require.Equal(t, c.flag, v.String())
		var o analysis.Options
		v.bound(&o, getenv)
		require.Equal(t, analysis.Options{MaxMemory: c.memory, Heap: c.heap}, o, c.flag)
	}
	v := memoryValue{}
	require.Equal(t, memoryAuto, v.String())
	require.Error(t, v.Set("2G"))
}

func TestGarbagePercent(t *testing.T) {
	assert.Equal(t, 50, garbagePercent(1<<30, math.MaxInt64), "no analysis")
	assert.Equal(t, 50, garbagePercent(0, math.MaxInt64), "no analysis")
	assert.Equal(t, 3200, garbagePercent(0, 16<<30), "at most 128 MiB where next to nothing is in use")
	assert.Equal(t, 200, garbagePercent(64<<20, 16<<30))
	assert.Equal(t, 50, garbagePercent(512<<20, 16<<30))
	assert.Equal(t, 100, garbagePercent(32<<20, 256<<20), "an eighth of what there is")
	assert.Equal(t, 50, garbagePercent(64<<20, 256<<20))
}
