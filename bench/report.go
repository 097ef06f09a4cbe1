package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/mcchk/mcchk/synth"
)

// Aims of the HTML report of many findings.
const (
	reportFindings = 10_000
	reportSizeAim  = 10  // MB
	reportOpenAim  = 2.0 // seconds
)

// reportTimes are milliseconds of one opening of a report in a browser.
type reportTimes struct {
	Open    float64 `json:"open"`    // from the start of the navigation until all is there and laid out
	Finding float64 `json:"finding"` // to open a finding then
	Search  float64 `json:"search"`  // to search all findings for a word
}

// report measures the HTML report of 10,000 findings.
func (o options) report(ctx context.Context, out io.Writer, work string) error {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		return errors.New("chromium not found; install with: apt-get install chromium")
	}
	page, err := writeReport(ctx, work)
	if err != nil {
		return err
	}
	info, err := os.Stat(page)
	if err != nil {
		return err
	}
	var all []reportTimes
	for range max(1, (o.rounds+1)/2) {
		t, err := openReport(ctx, browser, page)
		if err != nil {
			return fmt.Errorf("opening the report: %w", err)
		}
		all = append(all, t)
	}
	median := func(figure func(reportTimes) float64) float64 {
		slices.SortFunc(all, func(a, b reportTimes) int { return cmp.Compare(figure(a), figure(b)) })
		return figure(all[len(all)/2])
	}
	line := func(what string, figure, aim float64, unit string) []string {
		if aim == 0 {
			return []string{what, fmt.Sprintf("%.2f %s", figure, unit), "-", ""}
		}
		return []string{what, fmt.Sprintf("%.2f %s", figure, unit), fmt.Sprintf("%g %s", aim, unit), within(figure, aim)}
	}
	table(out, fmt.Sprintf("The HTML report of %d findings, 64 processes (each time in a new Chromium; the median of %d)", reportFindings, len(all)), [][]string{
		{"what", "figure", "aim", ""},
		line("size", float64(info.Size())/1e6, reportSizeAim, "MB"),
		line("open", median(func(t reportTimes) float64 { return t.Open })/1000, reportOpenAim, "s"),
		line("open a finding", median(func(t reportTimes) float64 { return t.Finding })/1000, 0, "s"),
		line("search all findings", median(func(t reportTimes) float64 { return t.Search })/1000, 0, "s"),
	})
	return nil
}

func within(figure, aim float64) string {
	if figure > aim {
		return "over"
	}
	return "ok"
}

// writeReport analyses a synthetic trace with a race for each finding.
func writeReport(ctx context.Context, work string) (string, error) {
	l := launcher{work: work, mcchk: filepath.Join(work, "mcchk")}
	if err := l.command(ctx, buildTimeout, nil, "go", "build", "-o", l.mcchk, "./cmd/mcchk"); err != nil {
		return "", err
	}
	dir, page := filepath.Join(work, "races"), filepath.Join(work, "report.html")
	defer os.RemoveAll(dir)
	if _, err := synth.Generate(ctx, dir, synth.Config{Pattern: "lockopts", Ranks: 64, Accesses: 2_000_000, Races: reportFindings, Seed: 1}); err != nil {
		return "", err
	}
	return page, l.command(ctx, runTimeout, nil, l.mcchk, "analyze", "--fail-on", "never", "--format", "html="+page, dir)
}

// openReport opens a page in a browser of its own.
func openReport(ctx context.Context, browser, page string) (reportTimes, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("headless", "new"))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+page)); err != nil {
		return reportTimes{}, err
	}
	return chromedp.Run(ctx, chromedp.Evaluate[reportTimes](`(async () => {
		const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
		await drawn();
		const out = { open: performance.getEntriesByType('navigation')[0].loadEventEnd };
		const since = async (name, step) => {
			const began = performance.now();
			step();
			await drawn();
			out[name] = performance.now() - began;
		};
		await since('finding', () => { location.hash = 'finding-5000'; });
		await since('search', () => {
			const field = document.getElementById('filter-text');
			field.value = 'planted.c:9999';
			field.dispatchEvent(new Event('input', { bubbles: true }));
		});
		if (document.getElementById('finding-title') === null) throw new Error('no finding');
		return out;
	})()`, chromedp.EvalAwaitPromise))
}
