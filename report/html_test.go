package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
)

// pageData is the data of a page as its script reads it.
type pageData struct {
	Texts    []string
	Rules    []htmlRule
	Findings map[string][]json.RawMessage
	Sides    map[string][]json.RawMessage
	Sought   map[string][]json.RawMessage
	Fixes    map[string][]json.RawMessage
	Windows  []struct{ Parts []htmlPart }
	Events   map[int]struct {
		Events []struct {
			Line int `json:"l"`
		}
		Edges []htmlEdge
	}
}

func dataOf(t *testing.T, page []byte) *pageData {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindSubmatch(page)
	require.NotNil(t, m)
	d := &pageData{}
	require.NoError(t, json.Unmarshal(m[1], d))
	return d
}

// text is the inverse of dataWriter.text, and what base.js does.
func (d *pageData) text(t *testing.T, ref json.RawMessage) string {
	t.Helper()
	var list []json.Number
	if ref[0] != '[' {
		ref = []byte("[" + string(ref) + "]")
	}
	require.NoError(t, json.Unmarshal(ref, &list))
	i, err := list[0].Int64()
	require.NoError(t, err)
	form := d.Texts[i]
	if len(list) == 1 {
		return form
	}
	for _, n := range list[1:] {
		form = strings.Replace(form, "#", n.String(), 1)
	}
	return form
}

func number(t *testing.T, ref json.RawMessage) int {
	t.Helper()
	var n int
	require.NoError(t, json.Unmarshal(ref, &n))
	return n
}

// htmlBlocks is what the page says of each finding.
func htmlBlocks(t *testing.T, res *analysis.Result) []string {
	d := dataOf(t, render(t, "html", res))
	var out []string
	side, sought, fix := 0, 0, 0
	for i := range d.Findings["msg"] {
		var b strings.Builder
		fmt.Fprintln(&b, d.Rules[number(t, d.Findings["rule"][i])].ID)
		for _, field := range []string{"sev", "msg", "why", "mem", "seen", "acc"} {
			fmt.Fprintln(&b, d.text(t, d.Findings[field][i]))
		}
		for range number(t, d.Findings["sides"][i]) {
			for _, field := range []string{"what", "at", "span"} {
				fmt.Fprintln(&b, d.text(t, d.Sides[field][side]))
			}
			side++
		}
		for range number(t, d.Findings["sought"][i]) {
			fmt.Fprintln(&b, d.text(t, d.Sought["text"][sought]))
			sought++
		}
		for range number(t, d.Findings["fixes"][i]) {
			fmt.Fprintln(&b, d.text(t, d.Fixes["text"][fix]))
			fix++
		}
		out = append(out, b.String())
	}
	require.Len(t, d.Sides["what"], side)
	require.Len(t, d.Sought["text"], sought)
	require.Len(t, d.Fixes["text"], fix)
	return out
}

func TestHTMLTextsComeBack(t *testing.T) {
	for _, text := range []string{
		"", "a", "line 12", "#", "# 12", "0", "007", "0x7ffe10", "12345678901234567890123", "1.50", "a1b2c3", "-5", "</script><!-- 3 -->", "\u2028 \u0000 4", "1 # 2",
	} {
		t.Run(text, func(t *testing.T) {
			d := newDataWriter(Options{}, nil)
			ref, err := d.text(text).MarshalJSON()
			require.NoError(t, err)
			got := &pageData{Texts: d.data.Texts}
			require.Equal(t, text, got.text(t, ref))
			again, err := d.text(text).MarshalJSON()
			require.NoError(t, err)
			require.Equal(t, string(ref), string(again))
		})
	}
}

func TestHTMLIsTheSameBytes(t *testing.T) {
	for name, res := range allSamples() {
		t.Run(name, func(t *testing.T) {
			page := render(t, "html", res)
			require.Equal(t, string(page), string(render(t, "html", res)))
			require.Contains(t, string(page), Verdict(res))
			require.Contains(t, string(page), foundation(res))
			for _, d := range res.Caveats {
				require.Contains(t, string(page), d.Text)
			}
		})
	}
	res, opts := fixture(t, "jacobi_halo_wrong")
	again, _ := fixture(t, "jacobi_halo_wrong")
	require.Equal(t, string(htmlOf(t, res, opts)), string(htmlOf(t, again, opts)))
}

// TestHTMLLoadsNothing: the page names nothing outside of itself.
func TestHTMLLoadsNothing(t *testing.T) {
	res, opts := fixture(t, "jacobi_halo_wrong")
	page := htmlOf(t, res, opts)
	require.False(t, regexp.MustCompile(`(src|href)="(https?:)?//`).Match(page))
	require.Equal(t, 2, bytes.Count(page, []byte("<script")))
	require.True(t, bytes.Contains(page, []byte(`content="default-src 'none'; `)))
}

// manyFindings is a result with n findings of different places, by 1,024
// processes.
func manyFindings(n int) *analysis.Result {
	const ranks = 1024
	res := &analysis.Result{Verdict: analysis.Race, Basis: goodBasis, Directory: "traces", Clock: "auto", Pictures: &analysis.Pictures{}}
	res.Basis.Ranks, res.Basis.RanksInRun = ranks, ranks
	for i := range n {
		f := crossFinding()
		if i%3 == 0 {
			f = bufferFinding()
		}
		lead, other := i%ranks, (7*i+1)%ranks
		f.First.Stack, f.Second.Stack = at("exchange", "/home/u/src/planted.c", 2*i+1), at("sum", "/home/u/src/planted.c", 2*i+2)
		if f.Class == conflicts.AcrossProcesses {
			f.First.Rank, f.Second.Rank, f.Owner = lead, other, other
			f.Window = int64(1 + i%5)
			f.WinName = fmt.Sprintf("window %d (MPI_Win_create at halo.c:5)", f.Window)
			f.Lo, f.Hi = uint64(8*i%20_000), uint64(8*i%20_000+8)
			f.Owner = other % 16
		}
		f.Ranks = []int{f.First.Rank, f.Second.Rank}
		f.Region = i
		f.Why = fmt.Sprintf("MPI_Put (line %d) of rank %d is not complete until MPI_Win_unlock (line %d), and nothing makes rank %d wait for that before MPI_Put (line %d)", 2*i+1, lead, 2*i+9, other, 2*i+2)
		for k := range f.Sought {
			f.Sought[k].Text = fmt.Sprintf("a message, barrier or fence from MPI_Win_unlock (line %d) of rank %d, which completes MPI_Put (line %d), to MPI_Put (line %d) of rank %d", 2*i+9, lead, 2*i+1, 2*i+2, other)
		}
		for k := range f.Fixes {
			f.Fixes[k].Text = fmt.Sprintf("call MPI_Win_flush for rank %d (or MPI_Win_unlock) after MPI_Put (line %d) and before MPI_Barrier (line %d) of rank %d", other, 2*i+1, 2*i+3, lead)
		}
		res.Findings = append(res.Findings, f)
	}
	for w := range 5 {
		m := analysis.WindowMap{Window: int64(w + 1), Name: "window"}
		for owner := range 64 {
			part := analysis.PartMap{Owner: owner, Cell: 8}
			for rank := range 8 {
				track := analysis.Track{Rank: rank}
				for k := range 20 {
					track.Runs = append(track.Runs, analysis.Bytes{Lo: uint64(1000 * k), Hi: uint64(1000*k + 8*rank + 8)})
				}
				part.Tracks = append(part.Tracks, track)
			}
			m.Parts = append(m.Parts, part)
		}
		m.Others = ranks - 64
		res.Pictures.Windows = append(res.Pictures.Windows, m)
	}
	return res
}

// manySources stands for a file with a line for each place of manyFindings.
func manySources(string) ([]byte, error) {
	return bytes.Repeat([]byte("\tMPI_Put(&halo, 1, MPI_INT, left, 0, 1, MPI_INT, win); /* and more */\n"), 25_000), nil
}

func TestHTMLOfManyFindingsIsSmall(t *testing.T) {
	page := htmlOf(t, with(manyFindings(10_000), manySources), Options{Dir: "/home/u/src"})
	require.Less(t, len(page), 10_000_000)
	t.Logf("%d bytes", len(page))
}

// fixture is the report on a recorded trace of fixtures/traces.
func fixture(t *testing.T, name string) (*analysis.Result, Options) {
	t.Helper()
	res, err := analysis.Run(t.Context(), filepath.Join("..", "fixtures", "traces", name), analysis.Options{})
	require.NoError(t, err)
	res.Pictures, err = analysis.Draw(t.Context(), res, analysis.Options{})
	require.NoError(t, err)
	return res, Options{Dir: "/tmp/mcchk-fixtures/" + name, Version: "v1.2.3"}
}

func htmlOf(t *testing.T, res *analysis.Result, opts Options) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, HTML(&b, res, opts))
	return b.Bytes()
}

// TestHTMLNamesProcesses: drawings call processes what the model of the run does.
func TestHTMLNamesProcesses(t *testing.T) {
	for model, want := range map[string]string{"MPI": "rank", "OpenSHMEM": "PE", "GASPI": "rank"} {
		res := *samples()["race"]
		res.Basis.Model = model
		require.Contains(t, string(render(t, "html", &res)), `"process":"`+want+`"`)
	}
}
