package turns

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompany: work that must be alone is, other work has no more company than
// there are places, and all of it is done.
func TestCompany(t *testing.T) {
	const places, workers, rounds = 3, 8, 200
	turns := New(places)
	var together, lonely, done atomic.Int32
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for round := range rounds {
				if (worker+round)%3 == 0 {
					turns.Alone(func() {
						if lonely.Add(1) != 1 || together.Load() != 0 {
							t.Error("not alone")
						}
						runtime.Gosched()
						lonely.Add(-1)
						done.Add(1)
					})
					continue
				}
				turns.Shared(func() {
					n := together.Add(1)
					if n > places || lonely.Load() != 0 {
						t.Errorf("%d side by side, %d alone", n, lonely.Load())
					}
					runtime.Gosched()
					together.Add(-1)
					done.Add(1)
				})
			}
		})
	}
	wg.Wait()
	require.Equal(t, int32(workers*rounds), done.Load())
}

// TestSideBySide: work that may have company has it.
func TestSideBySide(t *testing.T) {
	turns := New(2)
	var wg, met sync.WaitGroup
	met.Add(2)
	for range 2 {
		wg.Go(func() {
			turns.Shared(func() {
				met.Done()
				met.Wait() // for the other
			})
		})
	}
	wg.Wait()
}

// TestTurnEndsWithItsGoroutine: work that ends its goroutine, as a failing test
// does, gives up its turn.
func TestTurnEndsWithItsGoroutine(t *testing.T) {
	turns := New(1)
	for _, do := range []func(func()){turns.Shared, turns.Alone} {
		var wg sync.WaitGroup
		wg.Go(func() { do(runtime.Goexit) })
		wg.Wait()
	}
	done := false
	turns.Alone(func() { done = true })
	require.True(t, done)
}

// TestKindsTakeTurns: those of the kind that is at work come before those of
// the other, whoever came first.
func TestKindsTakeTurns(t *testing.T) {
	turns := New(1)
	var order []string
	var wg sync.WaitGroup
	queue := func(do func(func()), name string, k kind, n int) {
		wg.Go(func() { do(func() { order = append(order, name) }) })
		for {
			turns.lock.Lock()
			waiting := turns.waiting[k]
			turns.lock.Unlock()
			if waiting == n {
				return
			}
			runtime.Gosched()
		}
	}
	turns.Shared(func() {
		queue(turns.Alone, "alone", alone, 1)
		queue(turns.Shared, "shared", shared, 1)
		queue(turns.Shared, "shared", shared, 2)
	})
	wg.Wait()
	require.Equal(t, []string{"shared", "shared", "alone"}, order)
}
