package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/gaspi"
	"github.com/mcchk/mcchk/shmem"
	"github.com/mcchk/mcchk/trace"
	"github.com/mcchk/mcchk/tracer"
)

// TestAPICallsPages keeps docs/openshmem-calls.md and docs/gaspi-calls.md equal to the
// tables of the tracer and of the analysis:
// go test ./cmd/mcchk -run TestAPICallsPages -update writes them anew.
func TestAPICallsPages(t *testing.T) {
	for name, page := range map[string]string{"openshmem-calls.md": shmemCallsPage(t), "gaspi-calls.md": gaspiCallsPage(t)} {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, page, string(got), "docs/%s is not what the tables say: go test ./cmd/mcchk -run TestAPICallsPages -update", name)
	}
}

// TestAPITablesAgree: what the tracer records the analysis understands as of the same
// family, and the other way round.
func TestAPITablesAgree(t *testing.T) {
	var families, calls []string
	for _, m := range shmem.Meanings() {
		families = append(families, m.Family)
	}
	for _, m := range gaspi.Meanings() {
		calls = append(calls, m.Call)
	}
	gaspiFamily := func(name string) string {
		if gaspi.FactsOf(name).Known {
			return name
		}
		return ""
	}
	tablesAgree(t, tracer.ShmemFunctions, shmem.Family, families)
	tablesAgree(t, tracer.GaspiFunctions, gaspiFamily, calls)
}

// ordersStrands are the notes of the tracer on strands of a process.
var ordersStrands = map[string]bool{
	"mcchk_Strand": true, "mcchk_Strand_end": true, "mcchk_Strand_waits": true, "mcchk_Will_release": true, "mcchk_Release": true, "mcchk_Fork": true,
	"mcchk_Acquire": true, "mcchk_Object_end": true,
}

func tablesAgree(t *testing.T, recorded func() ([]tracer.APIFunction, error), family func(string) string, families []string) {
	functions, err := recorded()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, f := range functions {
		switch {
		case f.Unobserved != "":
			require.Empty(t, family(f.Name), "%s has a meaning, but the tracer does not record it", f.Name)
		case ordersStrands[f.Name], f.Name == "mcchk_Memory_gone", strings.HasPrefix(f.Name, trace.AtomicNote), f.Name == "mcchk_Threads", f.Name == "mcchk_Mapped": // of all models
		default:
			known[f.Family] = true
			require.Equal(t, f.Family, family(f.Name), f.Name)
		}
	}
	for _, f := range families {
		require.True(t, known[f], "%s has a meaning, but the tracer does not record it", f)
	}
}

func shmemCallsPage(t *testing.T) string {
	functions, err := tracer.ShmemFunctions()
	require.NoError(t, err)
	contexts := map[string]bool{}
	for _, f := range functions {
		if strings.HasPrefix(f.Name, "shmem_ctx_") && f.Family != f.Name {
			contexts[f.Family] = true
		}
	}
	var b strings.Builder
	b.WriteString(`# What mcchk does about each OpenSHMEM call

<!-- Written by go test ./cmd/mcchk -run TestAPICallsPages -update, from shmem/table.go and tracer/runtime/shmem/shmem.tbl. -->

The functions of the C interface of OpenSHMEM 1.6 and its deprecated names, recorded where the library has them. TYPE stands for the specification's names of types, SIZE for its numbers of bits; the type-generic interfaces of C11 are macros for these functions.

- *order*: whom the call orders after whom. A wait comes after what the PE that wrote the value had done before it wrote it
- *completes*: the pending operations that it completes
- *memory*: what it reads and writes
- *ctx*: there is a form with a context

| calls | order | completes | memory | ctx | notes |
| --- | --- | --- | --- | --- | --- |
`)
	for _, m := range shmem.Meanings() {
		ctx := ""
		if contexts[m.Family] {
			ctx = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", m.Family, m.Orders, m.Completes, m.Memory, ctx, m.Note)
	}
	b.WriteString(unrecorded("They order no PEs, complete no operations, and touch no memory except their own small results.", functions))
	return b.String()
}

// unrecorded is the section of the functions that the tracer does not record.
func unrecorded(text string, functions []tracer.APIFunction) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Calls that are not recorded\n\n%s\n\n| call | what it is |\n| --- | --- |\n", text)
	for _, f := range functions {
		if f.Unobserved != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", f.Name, f.Unobserved)
		}
	}
	return b.String()
}

func gaspiCallsPage(t *testing.T) string {
	functions, err := tracer.GaspiFunctions()
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString(`# What mcchk does about each GASPI call

<!-- Written by go test ./cmd/mcchk -run TestAPICallsPages -update, from gaspi/table.go and tracer/runtime/gaspi/gaspi.tbl. -->

The functions of the C interface of GASPI 17.1, and those of GPI-2 beyond it, recorded where the library's header declares them. Calls of the Fortran interface are calls of the same functions. A call counts when it returned GASPI_SUCCESS.

- *order*: whom the call orders
- *completes*: the pending operations that it completes
- *memory*: what it reads and writes

| call | order | completes | memory | notes |
| --- | --- | --- | --- | --- |
`)
	for _, m := range gaspi.Meanings() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", m.Call, m.Orders, m.Completes, m.Memory, m.Note)
	}
	b.WriteString(unrecorded("They order no ranks, complete no operations, and touch no memory except their own small results.", functions))
	return b.String()
}
