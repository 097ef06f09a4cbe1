package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcchk/mcchk/analysis"
	"github.com/mcchk/mcchk/config"
)

// sizeValue is a flag that is a size; 0 by default.
type sizeValue struct {
	bytes int64
	text  string
}

func (v *sizeValue) String() string { return cmp.Or(v.text, "0") }
func (v *sizeValue) Type() string   { return "size" }

func (v *sizeValue) Set(text string) error {
	n, err := config.ParseBytes(text)
	if err == nil {
		v.bytes, v.text = n, text
	}
	return err
}

// memoryAuto is the --max-memory that is half of what there is.
const memoryAuto = "auto"

// memoryValue is a flag that is a size, or memoryAuto: the zero value.
type memoryValue struct{ size *sizeValue }

func (v *memoryValue) String() string {
	if v.size == nil {
		return memoryAuto
	}
	return v.size.String()
}

func (v *memoryValue) Type() string { return "size" }

func (v *memoryValue) Set(text string) error {
	if text == memoryAuto {
		v.size = nil
		return nil
	}
	v.size = &sizeValue{}
	return v.size.Set(text)
}

const (
	// programBytes is about what the program has resident beside what its run-time
	// system counts: its code, above all.
	programBytes = 16 << 20
	// leastMemory is the least that an analysis is held to: with less it would end
	// before it began.
	leastMemory = 48 << 20
)

// bound gives an analysis its limit, and lets the garbage collector keep to it. Of
// the memory that may be resident, a sixteenth is for what the collector does not see.
func (v *memoryValue) bound(o *analysis.Options, getenv func(string) string) {
	limit := halfOfMemory(getenv)
	if v.size != nil {
		limit = v.size.bytes
	}
	if limit == 0 {
		return
	}
	o.MaxMemory, o.Heap = limit, max(limit-limit/16-programBytes, leastMemory)
	debug.SetMemoryLimit(o.Heap)
}

const (
	watchEvery = 20 * time.Millisecond
	// watchShare is how much the heap may have in use of its limit, in percent, before
	// the program ends. An analysis that is told to end has ended long before.
	watchShare = 125
)

// watchMemory ends the program where it has more memory in use than its limit, if it has
// one: something goes on that an analysis cannot be told to end, and would take all memory
// of the machine. It also says when garbage is collected, unless GOGC does.
func watchMemory(w io.Writer, getenv func(string) string) {
	inUse := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	own, percent := getenv("GOGC") == "", 100
	look := func() {
		metrics.Read(inUse)
		limit := debug.SetMemoryLimit(-1)
		if p := garbagePercent(int64(inUse[1].Value.Uint64()), limit); own && (p*8 < percent*7 || p*7 > percent*8) {
			percent = p
			debug.SetGCPercent(p)
		}
		if float64(inUse[0].Value.Uint64()) > float64(limit)/100*watchShare {
			fmt.Fprintf(w, "mcchk: no verdict: more than the %d MiB of memory that may be in use are needed, and the analysis could not be ended in time. That is an error of mcchk: please report it. More memory (--max-memory) or an analysis in parts (--shard) may help\n", limit>>20)
			os.Exit(exitFailure)
		}
	}
	look()
	go func() {
		for range time.Tick(watchEvery) {
			look()
		}
	}()
}

const (
	// leastPercent keeps what is resident nearer to what is in use than Go's default, where much is.
	leastPercent = 50
	// garbageBytes may lie about while an analysis has little in use: that of many small objects would
	// spend half of its time on collecting them. Of its limit that is a part.
	garbageBytes, garbagePart = 128 << 20, 8
	leastHeap                 = 4 << 20 // to which Go's percentages refer at least
)

// garbagePercent returns how much garbage there may be before it is collected, in percent of what is in use,
// where so many bytes are. limit: that of an analysis; math.MaxInt64: there is none.
func garbagePercent(live, limit int64) int {
	if limit == math.MaxInt64 {
		return leastPercent
	}
	return max(leastPercent, int(100*min(garbageBytes, limit/garbagePart)/max(live, leastHeap)))
}

// halfOfMemory is what memoryAuto stands for, bytes: processes that one launcher
// started on a machine share it.
func halfOfMemory(getenv func(string) string) int64 {
	return memoryHere(getenv, "/") / 2 / launchedHere(getenv)
}

// memoryHere returns how much memory there is for this process, bytes: what the
// machine has, or less where its control group (of version 1 or 2) or Slurm gives
// it less. 0: nobody knows. root is where /proc and /sys lie.
func memoryHere(getenv func(string) string, root string) int64 {
	least := int64(math.MaxInt64)
	add := func(n int64) {
		if n > 0 {
			least = min(least, n)
		}
	}
	read := func(path string) string {
		text, _ := os.ReadFile(filepath.Join(root, path)) // without one, there is no limit
		return strings.TrimSpace(string(text))
	}
	for line := range strings.Lines(read("proc/meminfo")) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			add(1024 * number(f[1]))
		}
	}
	for line := range strings.Lines(read("proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		// Within a container, a group's path may be that outside of it; then the
		// mounted root is the group.
		dir, file := "sys/fs/cgroup", "memory.max"
		if f[1] != "" {
			if !slices.Contains(strings.Split(f[1], ","), "memory") {
				continue
			}
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for at := filepath.Clean("/" + f[2]); ; at = filepath.Dir(at) {
			add(number(read(filepath.Join(dir, at, file))))
			if at == "/" {
				break
			}
		}
	}
	add(number(getenv("SLURM_MEM_PER_NODE")) << 20) // MiB; 0: all of the node
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// number returns a positive number, and 0 for "max" and whatever else is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// sizeText words a number of bytes.
func sizeText(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
