package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/shmem"
	"github.com/mcchk/mcchk/tracer"
)

// TestShmemCallsPage keeps docs/openshmem-calls.md equal to the tables of the tracer
// and of the analysis: go test ./cmd/mcchk -run TestShmemCallsPage -update writes it
// anew.
func TestShmemCallsPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "openshmem-calls.md")
	page := shmemCallsPage(t)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, page, string(got), "docs/openshmem-calls.md is not what the tables say: go test ./cmd/mcchk -run TestShmemCallsPage -update")
}

// TestShmemTablesAgree: what the tracer records the analysis understands as of the same
// family, and the other way round.
func TestShmemTablesAgree(t *testing.T) {
	functions, err := tracer.ShmemFunctions()
	require.NoError(t, err)
	recorded := map[string]bool{}
	for _, f := range functions {
		switch {
		case f.Unobserved != "":
			require.Empty(t, shmem.Family(f.Name), "%s has a meaning, but the tracer does not record it", f.Name)
		case f.Name == "mcchk_Memory_gone" || f.Name == "mcchk_Threads": // of all models
		default:
			recorded[f.Family] = true
			require.Equal(t, f.Family, shmem.Family(f.Name), f.Name)
		}
	}
	for _, m := range shmem.Meanings() {
		require.True(t, recorded[m.Family], "%s has a meaning, but the tracer does not record it", m.Family)
	}
}

func shmemCallsPage(t *testing.T) string {
	functions, err := tracer.ShmemFunctions()
	require.NoError(t, err)
	contexts, unobserved := map[string]bool{}, ""
	for _, f := range functions {
		if f.Unobserved != "" {
			unobserved += fmt.Sprintf("| %s | %s |\n", f.Name, f.Unobserved)
		}
		if strings.HasPrefix(f.Name, "shmem_ctx_") && f.Family != f.Name {
			contexts[f.Family] = true
		}
	}
	var b strings.Builder
	b.WriteString(`# What mcchk does about each OpenSHMEM call

<!-- Written by go test ./cmd/mcchk -run TestShmemCallsPage -update, from shmem/table.go and tracer/runtime/shmem/shmem.tbl. -->

The functions of the C interface of OpenSHMEM 1.5 and its deprecated names, recorded where the library has them. TYPE stands for the specification's names of types, SIZE for its numbers of bits; the type-generic interfaces of C11 are macros for these functions.

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
	b.WriteString(`
## Calls that are not recorded

They order no PEs, complete no operations, and touch no memory except their own small results.

| call | what it is |
| --- | --- |
`)
	b.WriteString(unobserved)
	return b.String()
}
