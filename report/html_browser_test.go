//go:build !quick

package report

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	gosync "sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browserTimeout bounds each test in the browser; it takes a second or two.
const browserTimeout = 90 * time.Second

// theBrowser is the one that all tests of this package share.
var theBrowser = struct {
	once gosync.Once
	ctx  context.Context
	stop func()
	err  error
}{stop: func() {}}

func TestMain(m *testing.M) {
	code := m.Run()
	theBrowser.stop()
	os.Exit(code)
}

// browser starts Chromium without a window.
func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	require.NoError(t, err, "the tests of the HTML report need chromium: apt-get install chromium (or make packages)")
	b := &theBrowser
	b.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("headless", "new"), chromedp.WindowSize(1280, 1000))
		allocated, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, stop := chromedp.NewContext(allocated)
		b.ctx, b.stop = ctx, func() { stop(); stopAllocator() }
		b.err = chromedp.Do(ctx)
	})
	require.NoError(t, b.err, "chromium does not start")
	return b.ctx
}

type step = chromedp.Action[chromedp.Void]

// tab is an open report.
type tab struct {
	t   *testing.T
	ctx context.Context

	lock       gosync.Mutex
	complaints []string // what the console said, and exceptions
}

// open writes a report to a file and opens it at a hash, "" or "#…".
func open(t *testing.T, report []byte, hash string, before ...step) *tab {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, report, 0o644))
	ctx, cancel := chromedp.NewContext(browser(t))
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, browserTimeout)
	t.Cleanup(cancel)
	x := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, x.listen))
	x.do(before...)
	x.do(chromedp.Navigate("file://"+path+hash), chromedp.WaitReady(`html[data-ready="true"]`))
	return x
}

func (x *tab) listen(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, a := range e.Args {
			complaint += fmt.Sprintf("console.%s: %s %s ", e.Type, a.Value, a.Description)
		}
	case *log.EventEntryAdded:
		complaint = fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text)
	case *runtime.EventExceptionThrown:
		complaint = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			complaint += ": " + e.ExceptionDetails.Exception.Description
		}
	}
	if complaint != "" {
		x.lock.Lock()
		x.complaints = append(x.complaints, complaint)
		x.lock.Unlock()
	}
}

func (x *tab) do(steps ...step) {
	x.t.Helper()
	require.NoError(x.t, chromedp.Do(x.ctx, steps...))
}

// eval returns the value of an expression in the page, as a string.
func (x *tab) eval(script string) string {
	x.t.Helper()
	out, err := chromedp.Run(x.ctx, chromedp.Evaluate[string]("String("+script+")"))
	require.NoError(x.t, err)
	return out
}

func (x *tab) number(script string) int {
	x.t.Helper()
	n, err := strconv.Atoi(x.eval(script))
	require.NoError(x.t, err)
	return n
}

// until waits for an expression to be true.
func (x *tab) until(script string) {
	x.t.Helper()
	x.do(chromedp.Poll[chromedp.Void](script, chromedp.WithPollingTimeout(20*time.Second)))
}

func (x *tab) keys(keys string) {
	x.t.Helper()
	x.do(chromedp.KeyEvent(keys))
}

// press presses a key that is no text: of one that the page takes for itself, a
// keyboard sends no text either.
func (x *tab) press(key string) {
	x.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		_, err := chromedp.Call(x.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key})
		require.NoError(x.t, err)
	}
}

// click clicks at the middle of an element.
func (x *tab) click(selector string) {
	x.t.Helper()
	var at []float64
	element := `document.querySelector(` + strconv.Quote(selector) + `)`
	for range 3 { // what comes into view may take another height
		x.eval(element + `.scrollIntoView({ block: 'center' })`)
		x.until(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	}
	require.NoError(x.t, json.Unmarshal([]byte(x.eval(`(() => {
		const box = `+element+`.getBoundingClientRect();
		return '[' + (box.x + box.width / 2) + ',' + (box.y + box.height / 2) + ']';
	})()`)), &at))
	x.do(chromedp.MouseClickXY(at[0], at[1]))
}

// quiet requires that the page complained of nothing.
func (x *tab) quiet() {
	x.t.Helper()
	x.lock.Lock()
	defer x.lock.Unlock()
	require.Empty(x.t, x.complaints)
}

// screenshot keeps a picture in the folder that MCCHK_SCREENSHOTS names.
func (x *tab) screenshot(name string) {
	x.t.Helper()
	dir := os.Getenv("MCCHK_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(x.ctx, chromedp.CaptureScreenshot())
	require.NoError(x.t, err)
	require.NoError(x.t, os.MkdirAll(dir, 0o755))
	require.NoError(x.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// prefers sets the colours that the user prefers, "dark" or "light".
func prefers(scheme string) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}
