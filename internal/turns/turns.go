// Package turns divides a machine among tests that run side by side: most work
// may have company, and some must be alone.
//
// Processes of an MPI library may spin while they wait for each other. Where
// they have fewer processors than they are, because there are few or because
// something else runs, they take 10 to 250 times as long.
package turns

import "sync"

// Turns are the turns of one machine. What has been let in stays until it is
// done; of those that wait, all of one kind come before those of the other, so
// that the machine is seldom half idle because the kind changes.
type Turns struct {
	places int // for work with company

	lock    sync.Mutex
	change  *sync.Cond
	running kind
	now     int    // how many are at work, all of the kind that is running
	waiting [2]int // of each kind
}

type kind int

const (
	shared kind = iota
	alone
)

// New returns the turns of a machine on which as many as places may work side
// by side.
func New(places int) *Turns {
	t := &Turns{places: places}
	t.change = sync.NewCond(&t.lock)
	return t
}

// Shared does work that may have company, but not more than there are places.
func (t *Turns) Shared(work func()) { t.do(shared, t.places, work) }

// Alone does work that nothing else may run beside.
func (t *Turns) Alone(work func()) { t.do(alone, 1, work) }

// do waits for a turn and works. The turn ends even if work ends its goroutine,
// as a failing test does.
func (t *Turns) do(k kind, places int, work func()) {
	t.lock.Lock()
	t.waiting[k]++
	for !t.free(k, places) {
		t.change.Wait()
	}
	t.waiting[k]--
	t.running = k
	t.now++
	t.lock.Unlock()
	defer func() {
		t.lock.Lock()
		t.now--
		t.lock.Unlock()
		t.change.Broadcast()
	}()
	work()
}

// free reports whether work of a kind may begin.
func (t *Turns) free(k kind, places int) bool {
	if k == t.running {
		return t.now < places
	}
	return t.now == 0 && t.waiting[t.running] == 0
}
