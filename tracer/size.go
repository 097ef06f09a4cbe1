package tracer

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	sizeTold  = 1 << 30     // from which size of the traces on their growth is told, bytes
	sizeEvery = time.Second // how often it is looked at
)

// sizeInKiB returns a number of bytes as the run-time reads it, rounded up.
func sizeInKiB(bytes int64) string {
	if bytes == 0 {
		return "0"
	}
	return fmt.Sprintf("%dKiB", (bytes-1)/1024+1)
}

// sizeWatch tells when the traces of a run have grown beyond 1 GiB, and whenever
// they have doubled since.
type sizeWatch struct {
	dir   string
	limit int64 // 0: none
	out   io.Writer
	next  int64 // from which size on there is something to tell
}

// look tells how large the traces are, if that is worth telling.
func (w *sizeWatch) look() {
	size := traceSize(w.dir)
	if size < w.next {
		return
	}
	for w.next <= size {
		w.next *= 2
	}
	advice := "; --max-trace SIZE ends recording at a size"
	if w.limit > 0 {
		advice = fmt.Sprintf("; recording ends at %.1f GiB (--max-trace)", gib(w.limit))
	}
	fmt.Fprintf(w.out, "mcchk: the traces have grown to %.1f GiB%s\n", gib(size), advice)
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// traceSize returns the bytes of the traces in a directory.
func traceSize(dir string) int64 {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	sum := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && isTraceFile(e.Name()) {
			sum += info.Size()
		}
	}
	return sum
}

// watchSize watches the traces until the function that it returns is called.
func watchSize(dir string, limit int64, out io.Writer) (stop func()) {
	w := sizeWatch{dir: dir, limit: limit, out: out, next: sizeTold}
	end := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(sizeEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.look()
			case <-end:
				w.look()
				return
			}
		}
	})
	return func() {
		close(end)
		wait.Wait()
	}
}
