package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

const mebi = 1 << 20

// median returns the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// ratios returns the median of the ratios of neighbouring runs, and the ratio
// of the best runs.
func ratios(base, other []float64) (middle, best float64) {
	var rs []float64
	for i := range base {
		rs = append(rs, other[i]/base[i])
	}
	return median(rs), slices.Min(other) / slices.Min(base)
}

// pick returns one figure of each sample.
func pick(samples []sample, figure func(sample) float64) []float64 {
	var v []float64
	for _, s := range samples {
		v = append(v, figure(s))
	}
	return v
}

func seconds(s sample) float64 { return s.seconds }

// verdict compares a ratio with its aim; 0 is none.
func verdict(ratio, aim float64) (text, ok string) {
	if aim == 0 {
		return "-", ""
	}
	text = fmt.Sprintf("%.4g", aim)
	if ratio > aim {
		return text, "over"
	}
	return text, "ok"
}

// table prints lines of cells under a title; the first line is the head.
func table(out io.Writer, title string, lines [][]string) {
	fmt.Fprintf(out, "\n%s\n\n", title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		for i, cell := range line {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

func writeRunTimes(out io.Writer, results []measured, level string) {
	lines := [][]string{{"program", "MPI", "compiler", "runs", "plain ms", "traced ms", "median", "best", "aim", ""}}
	for _, m := range results {
		plain, traced := pick(m.plain, seconds), pick(m.traced, seconds)
		middle, best := ratios(plain, traced)
		aim, ok := verdict(middle, m.program.aim(m.setup.compiler))
		lines = append(lines, []string{
			m.program.title, m.setup.mpi, m.setup.compiler, fmt.Sprint(len(plain)),
			fmt.Sprintf("%.1f", 1000*median(plain)), fmt.Sprintf("%.1f", 1000*median(traced)),
			fmt.Sprintf("%.2f", middle), fmt.Sprintf("%.2f", best), aim, ok,
		})
	}
	table(out, "Run time of the kernel, traced against plain (2 processes, "+level+", runs in turn;\nmedian: of the ratios of neighbouring runs, best: the fastest against the fastest)", lines)
}

func writeTraceSizes(out io.Writer, results []measured) {
	lines := [][]string{{"program", "MPI", "compiler", "MiB", "calls", "records", "accesses", "bytes/access", "bytes/call"}}
	for _, m := range results {
		s := m.size
		lines = append(lines, []string{
			m.program.title, m.setup.mpi, m.setup.compiler,
			fmt.Sprintf("%.2f", float64(s.bytes)/mebi), fmt.Sprint(s.calls), fmt.Sprint(s.records), fmt.Sprint(s.elements),
			per(s.bytes, s.elements), per(s.bytes, s.calls),
		})
	}
	table(out, "Traces of a run (both processes; records of accesses, loads and stores in them)", lines)
}

// analysisAim is how long the analysis of a run may take, to the plain kernel.
const analysisAim = 1

func writeAnalyses(out io.Writer, results []measured) {
	lines := [][]string{{"program", "MPI", "compiler", "runs", "plain ms", "analysis ms", "median", "best", "aim", ""}}
	for _, m := range results {
		plain := pick(m.plain, seconds)
		middle := median(m.analyses) / median(plain)
		aim, ok := verdict(middle, analysisAim)
		lines = append(lines, []string{
			m.program.title, m.setup.mpi, m.setup.compiler, fmt.Sprint(len(plain)),
			fmt.Sprintf("%.1f", 1000*median(plain)), fmt.Sprintf("%.1f", 1000*median(m.analyses)),
			fmt.Sprintf("%.2f", middle), fmt.Sprintf("%.2f", slices.Min(m.analyses)/slices.Min(plain)), aim, ok,
		})
	}
	table(out, "Analysis of a run's traces, against the plain kernel (ratios of the medians, and of the best)", lines)
}

func per(bytes int64, n uint64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g", float64(bytes)/float64(n))
}

// memoryAim is what the tracer may take of each process, MiB.
const memoryAim = 64

func writeMemory(out io.Writer, results []measured) {
	lines := [][]string{{"program", "MPI", "compiler", "own MiB", "peak MiB", "aim", ""}}
	for _, m := range results {
		more := func(figure func(sample) float64) float64 {
			return (median(pick(m.traced, figure)) - median(pick(m.plain, figure))) / 1024
		}
		own := more(func(s sample) float64 { return s.own })
		peak := more(func(s sample) float64 { return s.peak })
		aim, ok := verdict(peak, memoryAim)
		lines = append(lines, []string{
			m.program.title, m.setup.mpi, m.setup.compiler, fmt.Sprintf("%.2f", own), fmt.Sprintf("%.2f", peak), aim, ok,
		})
	}
	table(out, "Memory of the tracer, each process: traced less plain\n(own: anonymous and shared memory, peak: the most ever resident, among it the trace being written)", lines)
}

func writeThroughput(out io.Writer, results []throughput) {
	lines := [][]string{{"trace", "cores", "clock", "decode ms", "analysis ms", "M records/s", "M accesses/s", "median", "best", "aim", ""}}
	for _, t := range results {
		middle, best := ratios(t.decode, t.analysis)
		aim, ok := verdict(middle, throughputAim)
		s := median(t.analysis)
		lines = append(lines, []string{
			t.title, fmt.Sprint(t.procs), t.clock,
			fmt.Sprintf("%.1f", 1000*median(t.decode)), fmt.Sprintf("%.1f", 1000*s),
			fmt.Sprintf("%.2f", float64(t.size.records+t.size.calls)/s/1e6), fmt.Sprintf("%.1f", float64(t.size.elements)/s/1e6),
			fmt.Sprintf("%.2f", middle), fmt.Sprintf("%.2f", best), aim, ok,
		})
	}
	table(out, "Analysis against merely decoding the same trace (with 2 cores the files are decoded side by side;\nrecords: calls and access records, accesses: loads and stores in them)", lines)
}
