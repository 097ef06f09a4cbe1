//go:build !quick

package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/conflicts"
	"github.com/mcchk/mcchk/fingerprint"
	"github.com/mcchk/mcchk/lattice"
	"github.com/mcchk/mcchk/problems"
	"github.com/mcchk/mcchk/sources"
)

func TestHTMLInDarkAndLight(t *testing.T) {
	for _, name := range []string{"lock_barrier_wrong", "jacobi_halo_wrong"} {
		res, opts := fixture(t, name)
		page := htmlOf(t, res, opts)
		backgrounds := map[string]bool{}
		for _, scheme := range []string{"light", "dark"} {
			t.Run(name+"/"+scheme, func(t *testing.T) {
				x := open(t, page, "", prefers(scheme))
				require.Equal(t, "overview", x.view())
				x.screenshot(name + "-overview-" + scheme)
				x.visit("#finding-1")
				x.screenshot(name + "-finding-" + scheme)
				x.eval(`document.querySelector('.lattice').focus()`)
				x.eval(`document.querySelector('.lattice').closest('section').scrollIntoView()`)
				x.screenshot(name + "-events-" + scheme)
				x.visit("#windows")
				x.screenshot(name + "-windows-" + scheme)
				backgrounds[x.eval(`getComputedStyle(document.body).backgroundColor`)] = true
				x.readable()
				x.quiet()
			})
		}
		require.Len(t, backgrounds, 2)
	}
}

// readable requires the contrast of 4.5 to 1 that WCAG 2.2 (1.4.3) asks for.
func (x *tab) readable() {
	x.t.Helper()
	pairs := x.eval(`(() => {
		const style = getComputedStyle(document.documentElement), out = [];
		const value = (name) => style.getPropertyValue('--' + name).trim();
		const light = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
			.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
			.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
		for (const front of ['text', 'soft', 'link', 'error', 'warning', 'note', 'good', 'a', 'b'])
			for (const back of ['back', 'panel', 'epoch']) {
				const [x, y] = [light(value(front)), light(value(back))].sort((p, q) => q - p);
				const ratio = (x + 0.05) / (y + 0.05);
				if (ratio < 4.5) out.push(front + ' on ' + back + ': ' + ratio.toFixed(2));
			}
		return out.join('; ');
	})()`)
	require.Empty(x.t, pairs)
}

func TestHTMLSamples(t *testing.T) {
	for name, res := range allSamples() {
		t.Run(name, func(t *testing.T) {
			x := open(t, render(t, "html", res), "")
			n := len(res.Findings) + len(res.Accepted)
			require.Equal(t, plural(n, "finding"), x.eval(`document.getElementById('filter-count').textContent`))
			require.Equal(t, strconv.FormatBool(n == 0), x.eval(`document.getElementById('filters').hidden`))
			for i := range n {
				x.visit(fmt.Sprintf("#finding-%d", i+1))
				want := ""
				if i < len(res.Findings) {
					want = Message(&res.Findings[i])
				} else {
					want = Message(&res.Accepted[i-len(res.Findings)].Finding)
				}
				x.shows(want)
			}
			x.screenshot("sample-" + name)
			x.visit("#windows")
			x.accessible()
			x.quiet()
		})
	}
}

// view names the view that is shown.
func (x *tab) view() string {
	x.t.Helper()
	return x.eval(`[...document.querySelectorAll('main > section')].filter((s) => !s.hidden).map((s) => s.id.slice(5)).join()`)
}

// shows waits until the finding with that heading is shown.
func (x *tab) shows(title string) {
	x.t.Helper()
	text, err := json.Marshal(title)
	require.NoError(x.t, err)
	x.until(`document.getElementById('finding-title').textContent === ` + string(text))
}

// focused waits until an element has the focus, by its id or finding.
func (x *tab) focused(id string) {
	x.t.Helper()
	x.until(`(document.activeElement.id || document.activeElement.dataset.finding) === ` + strconv.Quote(id))
}

// visit follows a link within the page, and does not wait for the event that
// tells of it.
func (x *tab) visit(hash string) {
	x.t.Helper()
	x.eval(`[location.hash = ` + strconv.Quote(hash) + `, window.dispatchEvent(new Event('hashchange'))]`)
}

// accessible looks for what a screen reader would stumble over.
func (x *tab) accessible() {
	x.t.Helper()
	require.Empty(x.t, x.eval(`(() => {
		const wrong = [];
		const named = (e) => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim();
		for (const e of document.querySelectorAll('input, select')) if (e.labels.length === 0) wrong.push('no label: ' + e.id);
		for (const e of document.querySelectorAll('button, a, summary, [role=group], [role=img]')) if (!named(e)) wrong.push('no name: ' + e.outerHTML.slice(0, 80));
		for (const e of document.querySelectorAll('[aria-labelledby]'))
			for (const id of e.getAttribute('aria-labelledby').split(' ')) if (!document.getElementById(id)) wrong.push('no element ' + id);
		const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
		for (const id of new Set(ids)) if (ids.filter((i) => i === id).length > 1) wrong.push('twice: ' + id);
		let last = 1;
		for (const e of document.querySelectorAll('h1, h2, h3, h4, h5')) {
			const level = Number(e.tagName[1]);
			if (level > last + 1) wrong.push('heading out of order: ' + e.textContent);
			last = level;
		}
		for (const name of ['header', 'nav', 'main', 'footer']) if (document.querySelectorAll('body > ' + name + ', header > ' + name).length !== 1) wrong.push('landmark ' + name);
		return wrong.join('; ');
	})()`))
}

func TestHTMLOpensAtALink(t *testing.T) {
	x := open(t, render(t, "html", samples()["race"]), "#finding-2")
	require.Equal(t, "findings", x.view())
	f := crossFinding()
	x.shows(Message(&f))
	require.Equal(t, "#2 "+Message(&f)+" – mcchk: race (2 errors, 1 warning)", x.eval(`document.title`))
	require.Equal(t, "2", x.eval(`Number(document.querySelector('#list a[aria-current]').dataset.finding) + 1`))
	x.visit("#finding-999")
	require.Equal(t, "overview", x.view())
	require.Equal(t, "0", x.eval(`performance.getEntriesByType('resource').length`))
	x.quiet()
}

func TestHTMLKeys(t *testing.T) {
	x := open(t, render(t, "html", samples()["race"]), "")
	messages := func(i int) string { return Message(&samples()["race"].Findings[i]) }
	x.keys("gf")
	x.until(`document.activeElement.id === 'findings-title'`)
	require.Equal(t, "findings", x.view())
	x.keys("j")
	x.until(`document.activeElement.id === 'finding-title'`)
	x.shows(messages(0))
	x.keys("jj")
	x.until(`location.hash === '#finding-3'`)
	x.shows(messages(2))
	x.keys("j") // there is none behind
	x.keys("k")
	x.until(`location.hash === '#finding-2'`)
	x.shows(messages(1))
	x.keys(kb.Escape)
	x.focused("1")
	x.keys(kb.Tab + kb.Enter)
	x.until(`location.hash === '#finding-3'`)
	x.press("/")
	x.focused("filter-text")
	x.keys("jk/g") // typed, not obeyed
	require.Equal(t, "jk/g", x.eval(`document.activeElement.value`))
	x.keys(kb.Escape + "gw")
	x.until(`document.activeElement.id === 'windows-title'`)
	require.Equal(t, "windows", x.view())
	x.quiet()
}

func TestHTMLFilters(t *testing.T) {
	res := samples()["race"] // MC103 in ranks 0-3, MC101 in 1-2 with a window, MC201 in 0-1 with another
	accepted := acceptedSample().Accepted[1]
	res.Accepted = []analysis.Accepted{accepted}
	x := open(t, render(t, "html", res), "#findings")
	count := func() string { return x.eval(`document.getElementById('filter-count').textContent`) }
	set := func(name, value string) {
		t.Helper()
		x.eval(`(() => { const e = document.getElementById('filter-` + name + `'); e.value = ` + strconv.Quote(value) + `; e.dispatchEvent(new Event('input', { bubbles: true })); })()`)
	}
	tests := []struct {
		name, value string
		want        []string // numbers of findings
	}{
		{"rule", "MC103", []string{"1"}},
		{"severity", "warning", []string{"3"}},
		{"severity", "accepted", []string{"4"}},
		{"window", "1", []string{"2", "4"}},
		{"window", "0", []string{"1"}},
		{"file", "1", []string{"1", "2", "4"}},
		{"rank", "3", []string{"1"}},
		{"rank", "0", []string{"1", "3"}},
		{"rank", "2-9", []string{"1", "2", "4"}},
		{"rank", "nonsense", nil},
		{"text", "HALO.C:29", []string{"1"}},
		{"text", "mpi_put shared", []string{"2", "4"}},
		{"text", "nowhere to be found", nil},
	}
	require.Equal(t, "4 findings", count())
	for _, test := range tests {
		t.Run(test.name+" "+test.value, func(t *testing.T) {
			set(test.name, test.value)
			got := x.eval(`[...document.querySelectorAll('#list a')].map((a) => Number(a.dataset.finding) + 1).join()`)
			require.Equal(t, strings.Join(test.want, ","), got)
			require.Equal(t, fmt.Sprintf("%d of 4 findings", len(test.want)), count())
			x.click(`#filters button[type=reset]`)
			x.until(`document.getElementById('filter-count').textContent === '4 findings'`)
		})
	}
	// The tables of the overview set filters too.
	x.visit("#overview")
	x.click(`#counts table:first-child tbody tr:last-child a`)
	x.until(`!document.getElementById('view-findings').hidden`)
	require.Contains(t, count(), " of 4 findings")
	x.quiet()
}

// TestHTMLProblems: findings that one change would remove stand together, as a tree.
func TestHTMLProblems(t *testing.T) {
	res := *samples()["race"]
	res.Findings = nil
	for i := range 5 { // the first, third and fifth are of one get
		f := bufferFinding()
		f.Second.Event, f.Second.Stack = uint64(10+i), at("sum", "/home/u/src/halo.c", 31+i)
		if i%2 == 1 {
			f = crossFinding()
			f.First.Stack = at("exchange", "/home/u/src/halo.c", 31+i)
			f.First.Before.SyncPoint, f.First.After.SyncPoint = sync("MPI_Barrier", 1, 10*i), sync("MPI_Barrier", 1, 11*i)
		}
		res.Findings = append(res.Findings, f)
	}
	var want [][]int
	for _, p := range problems.Of(res.Findings) {
		want = append(want, p.Findings)
	}
	require.Equal(t, [][]int{{0, 2, 4}, {1}, {3}}, want, "what the test is about")

	x := open(t, render(t, "html", &res), "#findings")
	tree := `[...document.getElementById('list').children].map((li) => [...li.querySelectorAll('a')].map((a) => Number(a.dataset.finding) + 1).join()).join('; ')`
	require.Equal(t, "1,3,5; 2; 4", x.eval(tree))
	require.Equal(t, "5 findings in 3 problems", x.eval(`document.getElementById('filter-count').textContent`))
	require.Equal(t, "2 more findings of the same problem", x.eval(`document.querySelector('#list summary').textContent`))
	require.Equal(t, "false", x.eval(`String(document.querySelector('#list details').open)`))
	x.visit("#finding-3")
	require.Equal(t, "true", x.eval(`String(document.querySelector('#list details').open)`), "what is shown can be seen in the list")
	require.Equal(t, "true", x.eval(`String(document.getElementById('finding').textContent.includes('Of the same problem'))`))
	require.Equal(t, "#1,#5", x.eval(`[...document.querySelectorAll('#finding section:not(.side) ul a')].map((a) => a.textContent).join()`))
	x.keys("j")
	x.until(`location.hash === '#finding-5'`)
	x.keys("j")
	x.until(`location.hash === '#finding-2'`)

	// Where the filters leave out the first, the next stands in its place.
	x.eval(`setTimeout(() => { const e = document.getElementById('filter-text'); e.value = 'halo.c:33'; e.dispatchEvent(new Event('input', { bubbles: true })); })`)
	x.until(`document.getElementById('filter-count').textContent === '1 of 5 findings'`)
	require.Equal(t, "3", x.eval(tree))
	x.accessible()
	x.quiet()
}

// TestHTMLCut moves the cut through the events of a finding, by keys and
// buttons; it is consistent wherever it stands.
func TestHTMLCut(t *testing.T) {
	res, opts := fixture(t, "lock_barrier_wrong")
	page := htmlOf(t, res, opts)
	events := dataOf(t, page).Events[0]
	require.NotEmpty(t, events.Events)
	x := open(t, page, "#finding-1")
	status := func() string { return x.eval(`document.querySelector('.cut-status').textContent`) }
	inside := func() []bool {
		t.Helper()
		var list []int
		require.NoError(t, json.Unmarshal([]byte(x.eval(`'[' + [...document.querySelectorAll('.event.past')].map((e) => e.dataset.event).join() + ']'`)), &list))
		in := make([]bool, len(events.Events))
		for _, i := range list {
			in[i] = true
		}
		for _, e := range events.Edges {
			require.True(t, in[e.From] || !in[e.To], "an effect without its cause")
		}
		last := map[int]bool{}
		for i, e := range events.Events {
			if e.Line >= 0 {
				require.True(t, !in[i] || !last[e.Line], "a line with a hole")
				last[e.Line] = last[e.Line] || !in[i]
			}
		}
		return in
	}
	count := func() (n int) {
		for _, in := range inside() {
			if in {
				n++
			}
		}
		return n
	}
	meet := count()
	require.Contains(t, status(), "A is pending. B has happened.")
	all := len(events.Events)
	x.eval(`document.querySelector('.lattice').focus()`)
	x.keys(kb.ArrowRight)
	require.Equal(t, meet+1, count())
	x.keys(kb.ArrowLeft + kb.ArrowLeft)
	require.Equal(t, meet-1, count())
	x.keys(kb.Home)
	require.Zero(t, count())
	require.Contains(t, status(), fmt.Sprintf("The cut has 0 of %d events.", all))
	require.Contains(t, status(), "A has not begun. B has not begun.")
	for n := range all {
		require.Equal(t, n, count())
		x.keys(kb.ArrowRight)
	}
	require.Equal(t, all, count())
	require.Contains(t, status(), "A is complete.")
	require.Equal(t, "true", x.eval(`document.querySelector('[data-step=later]').disabled`))
	x.click(`[data-step=earlier]`)
	require.Equal(t, all-1, count())
	x.click(`[data-step=start]`)
	require.Zero(t, count())
	x.click(`[data-step=meet]`)
	require.Equal(t, meet, count())
	for i := range events.Events { // a click takes an event and its past
		x.eval(fmt.Sprintf(`document.querySelector('.event[data-event="%d"]').dispatchEvent(new MouseEvent('click'))`, i))
		require.True(t, inside()[i])
	}
	x.quiet()
}

// A window has the address of the number that texts call it by, whichever finding comes first.
func TestHTMLWindowNumbers(t *testing.T) {
	res := *samples()["race"]
	second := crossFinding()
	second.Window, second.WinNumber, second.WinName = 1<<32+2, 2, "window 2 (MPI_Win_create at halo.c:6)"
	res.Findings = []conflicts.Finding{second, crossFinding()}
	res.Pictures = &analysis.Pictures{}
	x := open(t, render(t, "html", &res), "#window-1")
	require.Equal(t, "windows", x.view())
	require.Contains(t, x.eval(`document.querySelector('.window[open] h3').textContent`), "window 1 ")
	require.Equal(t, "window-1,window-2", x.eval(`[...document.querySelectorAll('.window')].map((e) => e.id).join()`))
	x.visit("#finding-1")
	require.Equal(t, "#window-2", x.eval(`document.querySelector('#finding .facts a').getAttribute('href')`))
	x.quiet()
}

func TestHTMLWindowMaps(t *testing.T) {
	res, opts := fixture(t, "jacobi_halo_wrong")
	x := open(t, htmlOf(t, res, opts), "#windows")
	x.until(`document.querySelectorAll('.map').length === 3`)
	require.Equal(t, "2", x.eval(`document.querySelectorAll('.map .conflict').length`))
	require.Equal(t, "rank 0: read; rank 0: write; rank 1: write",
		x.eval(`[...document.querySelector('.part table').tBodies[0].rows].slice(0, 3).map((r) => r.cells[0].textContent + ': ' + r.cells[1].textContent).join('; ')`))
	x.click(`.map a text`)
	x.until(`document.querySelector('#finding .facts a') !== null`)
	require.True(t, strings.HasPrefix(x.eval(`location.hash`), "#finding-"))
	x.click(`#finding .facts a`)
	x.until(`document.activeElement.tagName === 'SUMMARY'`)
	require.Equal(t, "#window-1", x.eval(`location.hash`))
	require.Equal(t, "windows", x.view())
	x.quiet()
}

// TestHTMLEventsElsewhere: where the page has no events of a finding it says why,
// and how to get them.
func TestHTMLEventsElsewhere(t *testing.T) {
	res := samples()["race"]
	res.Directory = "my traces"
	res.Findings[2].Rule = conflicts.RuleLockOrder
	res.Pictures = &analysis.Pictures{Lattices: []*lattice.Lattice{{}}}
	x := open(t, render(t, "html", res), "#finding-1")
	require.Contains(t, x.eval(`document.getElementById('finding').textContent`), "The traces have no events of its accesses.")
	x.visit("#finding-3")
	hash := fingerprint.Of(&res.Findings[2], sources.NewReader(nil, fileFunc(source))).Hash()[:shownPrint]
	require.Contains(t, x.eval(`document.getElementById('finding').textContent`), "mcchk lattice --predict 'my traces' --finding "+hash+" -o finding.svg")
	x.quiet()
}

// TestHTMLOfManyFindings: 10,000 findings of 1,024 processes stay usable.
func TestHTMLOfManyFindings(t *testing.T) {
	const n = 10_000
	res := manyFindings(n)
	x := open(t, htmlOf(t, with(res, manySources), Options{Dir: "/home/u/src"}), "#findings")
	require.Equal(t, "10,000 findings", x.eval(`document.getElementById('filter-count').textContent`))
	require.Equal(t, "200", x.eval(`document.querySelectorAll('#list a').length`))
	x.screenshot("many-findings")
	x.click(`#more`)
	require.Equal(t, "400", x.eval(`document.querySelectorAll('#list a').length`))
	require.Equal(t, "200", x.eval(`document.activeElement.dataset.finding`))
	x.visit(fmt.Sprintf("#finding-%d", n))
	x.shows(Message(&res.Findings[n-1]))
	require.Contains(t, x.eval(`document.querySelector('.source strong').textContent`), "MPI_Put(&halo")
	x.eval(`(() => { const e = document.getElementById('filter-text'); e.value = 'planted.c:19999'; e.dispatchEvent(new Event('input', { bubbles: true })); })()`)
	require.Equal(t, "1 of 10,000 findings", x.eval(`document.getElementById('filter-count').textContent`))
	x.visit("#windows")
	require.Equal(t, "8", x.eval(`document.querySelectorAll('.map').length`), "what is far is folded")
	require.Contains(t, x.eval(`document.querySelector('.parts').textContent`), "960 more processes")
	require.Less(t, x.number(`document.querySelectorAll('.map')[0].querySelectorAll('a').length`), 30, "conflicts that are close are one mark")
	x.screenshot("many-windows")
	x.quiet()
}

// TestHTMLStrangeTexts: what names and sources hold is shown, and never run.
func TestHTMLStrangeTexts(t *testing.T) {
	evil := `</script><script>console.error(1)</script><!--<img src=x onerror=alert(1)> ${1} {{.}} "'` + "`\u2028\x00\xff#1"
	f := crossFinding()
	f.Why, f.WinName, f.First.Stack = evil, evil, at(evil, "/home/u/src/"+evil, 12)
	f.Fixes = []conflicts.Fix{{Text: evil}}
	res := &analysis.Result{
		Verdict: analysis.Race, Basis: goodBasis, Program: evil, Library: strings.Repeat(evil, 9), Directory: evil,
		Findings: []conflicts.Finding{f}, Caveats: []analysis.Caveat{{Kind: "kind", Text: evil}},
		Pictures: &analysis.Pictures{Missing: evil, Windows: []analysis.WindowMap{{Window: 3, Name: evil}}},
	}
	page := htmlOf(t, with(res, func(string) ([]byte, error) { return []byte(strings.Repeat(evil+"\n", 20)), nil }), Options{})
	x := open(t, page, "#finding-1")
	require.Equal(t, "2", x.eval(`document.scripts.length`))
	require.Contains(t, x.eval(`document.querySelector('.why').textContent`), `</script><script>console.error(1)</script><!--<img src=x onerror=alert(1)>`)
	require.Contains(t, x.eval(`document.querySelector('.source strong').textContent`), `</script><script>`)
	x.visit("#windows")
	require.Equal(t, "0", x.eval(`document.images.length`))
	x.quiet()
}

// TestHTMLComplaintsAreSeen: what the other tests require to be silent is not
// deaf.
func TestHTMLComplaintsAreSeen(t *testing.T) {
	for _, script := range []string{
		`console.error('x')`, `setTimeout(() => { throw new Error('x'); })`,
		`document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:9/x.png' }))`,
		`document.body.append(Object.assign(document.createElement('script'), { textContent: 'document.title = 1' }))`,
	} {
		t.Run(script, func(t *testing.T) {
			x := open(t, render(t, "html", samples()["clean"]), "")
			x.eval(`(() => { ` + script + `; })()`)
			x.until(`new Promise((done) => setTimeout(() => done(true), 50))`)
			x.lock.Lock()
			defer x.lock.Unlock()
			require.NotEmpty(t, x.complaints)
		})
	}
}
