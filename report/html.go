package report

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/mcchk/mcchk/analysis"
)

// The page's sources. The scripts are one script in the page, in this order.
//
//go:embed html
var pageFiles embed.FS

var pageScripts = [...]string{"base.js", "list.js", "lanes.js", "lattice.js", "windows.js", "finding.js", "main.js"}

// page is what the template of the page is given.
type page struct {
	Title      string
	Style      template.CSS
	Script     template.JS
	ScriptHash string // of the only script that a browser may run in the page
	StyleHash  string
	Data       template.JS // htmlData as JSON

	Verdict     string
	VerdictKind string // "bad", "good" or "open"
	Foundation  string
	Silence     string   // what no recorded load or store means
	Allowed     []string // parts that may go unseen
	Caveats     []pageCaveat
	Facts       []pageFact
}

type pageCaveat struct{ Kind, Text, Ranks string }

// pageFact is a fact of the run. What is long has its end in Rest.
type pageFact struct{ Name, Value, Rest string }

func newFact(name, value string) pageFact {
	const long = 100
	runes := []rune(value)
	if len(runes) <= long {
		return pageFact{name, value, ""}
	}
	return pageFact{name, string(runes[:long]), string(runes[long:])}
}

// HTML writes a result as one page that needs nothing else: styles, script and
// data stand in it, and it asks no network. What is in the data is in
// html_data.go, and the page's sources are in the folder html.
func HTML(w io.Writer, res *analysis.Result, opts Options) error {
	data, err := json.Marshal(newHTMLData(res, opts)) // escapes <, > and &
	if err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	p, err := newPage(res, opts)
	if err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	p.Data = template.JS(data)
	t, err := template.ParseFS(pageFiles, "html/page.html")
	if err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	bw := bufio.NewWriter(w)
	if err := t.Execute(bw, p); err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	return nil
}

func newPage(res *analysis.Result, opts Options) (*page, error) {
	style, err := pageFiles.ReadFile("html/style.css")
	if err != nil {
		return nil, err
	}
	script, err := pageScript()
	if err != nil {
		return nil, err
	}
	p := &page{
		Title: "mcchk: " + Verdict(res),
		Style: template.CSS(style), StyleHash: contentHash(style),
		Script: template.JS(script), ScriptHash: contentHash(script),
		Verdict: Verdict(res), VerdictKind: verdictKind(res), Foundation: foundation(res),
	}
	if label, text := silence(res); label != "" {
		p.Silence = label + ": " + strings.ReplaceAll(text, "\n", " ")
	}
	for _, d := range res.Caveats {
		ranks := ""
		if len(d.Ranks) > 0 {
			ranks = ranksOf(res, d.Ranks)
		}
		p.Caveats = append(p.Caveats, pageCaveat{string(d.Kind), d.Text, ranks})
	}
	for _, d := range res.Allowed {
		p.Allowed = append(p.Allowed, d.Text+ranksBehind(res, d.Ranks))
	}
	for _, f := range []pageFact{
		newFact("program", res.Program), newFact("command", commandLine(res.Launch.Command)), newFact("began", beganJSON(res)),
		newFact("hosts", strings.Join(res.Launch.Hosts, ", ")), newFact("MPI library", res.Library), newFact("traces", res.Directory),
		newFact("run", res.Run), newFact("clock", res.Clock), newFact("mcchk", opts.Version),
	} {
		if f.Value != "" {
			p.Facts = append(p.Facts, f)
		}
	}
	return p, nil
}

// commandLine writes a command as one would type it, but for what only a shell reads.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"'") {
			quoted[i] = strconv.Quote(w)
		}
	}
	return strings.Join(quoted, " ")
}

// pageScript is the page's script: its files in a function of their own.
func pageScript() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range pageScripts {
		text, err := pageFiles.ReadFile("html/" + name)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteString("})();\n")
	return b.Bytes(), nil
}

// contentHash names a script or style in a Content-Security-Policy.
func contentHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func verdictKind(res *analysis.Result) string {
	switch {
	case res.Verdict == analysis.Race, res.Verdict == analysis.Misuse:
		return "bad"
	case res.Verdict == analysis.NoRace && Verdict(res) == string(res.Verdict):
		return "good"
	}
	return "open"
}
