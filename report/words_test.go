package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/models"
	"github.com/mcchk/mcchk/symbols"
)

// TestWordsOfModels: what is said of a finding is in the words of its model.
func TestWordsOfModels(t *testing.T) {
	finding := func(rule, call, object string) conflicts.Finding {
		f := crossFinding()
		f.Rule, f.Again, f.Count, f.WinName = rule, true, 3, object
		for _, s := range []*conflicts.Side{&f.First, &f.Second} {
			s.Call, s.Epoch, s.Locks = call, "", nil
			s.Started.Call, s.Done.Call = call+"_before", call+"_after"
		}
		f.Explanation = models.Explain(&f)
		return f
	}
	for _, c := range []struct {
		finding conflicts.Finding
		says    []string
		never   []string
	}{
		{finding(conflicts.RuleRemoteRemote, "MPI_Put", "window 1"), []string{"rank 1", "the window of rank 0", "in ranks 1-2"}, []string{"PE", "segment"}},
		{finding(conflicts.RuleShmemRemote, "shmem_int_put", "static data 1"), []string{"PE 1", "the symmetric memory of PE 0", "PE 0's part", "in PEs 1-2"}, []string{"rank", "process", "window"}},
		{finding(conflicts.RuleGaspiRemote, "gaspi_write", "segment id 0"), []string{"rank 1", "the segment of rank 0", "in ranks 1-2"}, []string{"PE", "process", "window"}},
	} {
		text := string(render(t, "text", &analysis.Result{Verdict: analysis.Race, Basis: goodBasis, Findings: []conflicts.Finding{c.finding}}))
		text, _, _ = strings.Cut(text, "\n\n") // what is said of the run
		for _, says := range c.says {
			require.Contains(t, text, says)
		}
		for _, never := range c.never {
			require.NotContains(t, text, never)
		}
	}
}

// TestFixesBetweenThreads: of many fixes for threads of several processes the text has the
// first ones, and what is no change; all others but one are counted.
func TestFixesBetweenThreads(t *testing.T) {
	render := func(fixes, thread int) string {
		f := crossFinding()
		f.First.Thread, f.Explanation.Fixes = uint32(thread), nil
		for i := range fixes {
			f.Fixes = append(f.Fixes, conflicts.Fix{Kind: conflicts.FixSynchronize, Text: "fix " + strconv.Itoa(i)})
		}
		f.Fixes = append(f.Fixes, conflicts.Fix{Kind: conflicts.FixOther, Text: "leave it"})
		return string(render(t, "text", &analysis.Result{Verdict: analysis.Race, Basis: goodBasis, Findings: []conflicts.Finding{f}}))
	}
	text := render(5, 1)
	for _, says := range []string{"fix 0", "fix 1", "fix 2", "leave it", "or one of 2 others"} {
		require.Contains(t, text, says)
	}
	require.NotContains(t, text, "fix 3")
	for _, all := range []string{render(4, 1), render(5, 0)} {
		require.Contains(t, all, "fix 3")
		require.NotContains(t, all, "others")
	}
}

// TestStackOfTemplates: long names of the program's own templates have no arguments.
func TestStackOfTemplates(t *testing.T) {
	f := crossFinding()
	frame := func(args string) []symbols.Frame {
		return []symbols.Frame{{Func: "halo<" + args + ">::update", File: "/src/a.hpp", Line: 3}}
	}
	require.Equal(t, "halo<double>::update (a.hpp:3)", stackText(&f, frame("double")))
	require.Equal(t, "halo<…>::update (a.hpp:3)", stackText(&f, frame("block<double, "+strings.Repeat("pattern<2>, ", 8)+"long>")))
}

// TestStackThroughLibraries: of many calls within libraries a stack has the one that the program
// makes, and how many others there are.
func TestStackThroughLibraries(t *testing.T) {
	runs := func(inLibraries int) string { // what a library runs in a thread
		frames := []symbols.Frame{{Func: "work", File: "a.cpp", Line: 3}}
		for range inLibraries {
			frames = append(frames, symbols.Frame{Func: "lib", File: "/usr/include/x.h", Line: 7, Layer: symbols.Library})
		}
		f := crossFinding()
		return stackText(&f, frames)
	}
	require.Equal(t, "work (a.cpp:3) < lib (x.h:7) < lib (x.h:7) < lib (x.h:7)", runs(3))
	require.Equal(t, "work (a.cpp:3) < … 4 calls within libraries", runs(4))
	stack := func(inLibraries int) string {
		frames := []symbols.Frame{{Func: "~slab", File: "a.cpp", Line: 3}}
		for i := range inLibraries {
			frames = append(frames, symbols.Frame{Func: "lib" + strconv.Itoa(i), File: "/usr/include/x.h", Line: 7, Layer: symbols.Library})
		}
		f := crossFinding()
		return stackText(&f, append(frames, symbols.Frame{Func: "turn", File: "a.cpp", Line: 9}))
	}
	require.Equal(t, "~slab (a.cpp:3) < lib0 (x.h:7) < lib1 (x.h:7) < lib2 (x.h:7) < turn (a.cpp:9)", stack(3))
	require.Equal(t, "~slab (a.cpp:3) < … 3 calls within libraries … < lib3 (x.h:7) < turn (a.cpp:9)", stack(4))
}
