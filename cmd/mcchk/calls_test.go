package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/tracer"
)

// notUnderstood are the functions that are recorded but have no meaning in the
// table: they bring in processes that the trace knows nothing of.
var notUnderstood = []string{
	"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join",
}

// TestCallsPage keeps docs/mpi-calls.md equal to the tables of the tracer and
// of the analysis: go test ./cmd/mcchk -run TestCallsPage -update writes it anew.
func TestCallsPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "mpi-calls.md")
	page := callsPage(t)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, page, string(got), "docs/mpi-calls.md is not what the tables say: go test ./cmd/mcchk -run TestCallsPage -update")
}

// TestTablesAgree: what the tracer records the analysis understands, and the
// other way round.
func TestTablesAgree(t *testing.T) {
	functions, err := tracer.Functions()
	require.NoError(t, err)
	recorded := map[string]bool{}
	for _, f := range functions {
		if f.Unobserved != "" {
			require.False(t, mpi.Understands(f.Name), "%s has a meaning, but the tracer does not record it", f.Name)
			continue
		}
		recorded[f.Name] = true
		if ordersStrands[f.Name] {
			continue // which core does, whatever the model
		}
		if !slices.Contains(notUnderstood, f.Name) {
			require.True(t, mpi.Understands(f.Name), "%s is recorded, but has no meaning in mpi/table.go", f.Name)
		} else {
			require.False(t, mpi.Understands(f.Name), "%s is understood now", f.Name)
		}
	}
	for _, m := range mpi.Meanings() {
		require.True(t, recorded[m.Call], "%s has a meaning, but the tracer does not record it", m.Call)
	}
	for _, name := range notUnderstood {
		require.True(t, recorded[name], "%s is not recorded", name)
	}
}

func callsPage(t *testing.T) string {
	functions, err := tracer.Functions()
	require.NoError(t, err)
	byName := map[string]tracer.Function{}
	var local []string
	for _, f := range functions {
		byName[f.Name] = f
		if f.Unobserved != "" {
			local = append(local, fmt.Sprintf("| %s | %s |\n", f.Name, f.Unobserved))
		}
	}
	var b strings.Builder
	b.WriteString(`# What mcchk does about each MPI call

<!-- Written by go test ./cmd/mcchk -run TestCallsPage -update, from mpi/table.go, tracer/runtime/mpi.tbl and tracer/unobserved.tbl. -->

All functions of the C interface of MPI 4.0. Large-count forms (` + "`MPI_Name_c`" + `) go with ` + "`MPI_Name`" + `; those marked "MPI 4" are recorded where the library has them.
[detection-model.md](detection-model.md) defines the words:

- *signals*: the call happens before later calls of these processes
- *waits*: these earlier calls happen before its return
- *completes*: the pending operations that it completes
- *memory*: the buffers that it reads and writes. A blocking call reads them before its signals, and writes them after its waits

## Calls that are understood

| call | signals | waits | completes | memory | notes |
| --- | --- | --- | --- | --- | --- |
`)
	for _, m := range mpi.Meanings() {
		note := m.Note
		if byName[m.Call].Version >= 4 {
			note = strings.TrimPrefix(note+"; MPI 4", "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", m.Call, m.Signals, m.Waits, m.Completes, m.Memory, note)
	}
	b.WriteString(`
## Calls that are recorded, but not understood

They add processes to a run that are not in its traces. The verdict on a run that calls one is never "no race found", and conflicts that the call may have ordered are warnings.

`)
	for _, name := range notUnderstood {
		fmt.Fprintf(&b, "- %s\n", name)
	}
	b.WriteString(`
## Calls that are not recorded

Local calls: they order no processes, complete no operations, and touch no memory except their own small results.

| call | what it is |
| --- | --- |
`)
	b.WriteString(strings.Join(local, ""))
	return b.String()
}
