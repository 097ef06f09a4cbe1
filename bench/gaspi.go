package main

import "github.com/mcchk/mcchk/trace"

// Arguments of GASPI's functions, as traces have them.
const (
	gaspiTransferArgs = "segment_id_local:i offset_local:i rank:i segment_id_remote:i offset_remote:i size:i queue:i"
	gaspiAtomicArgs   = "segment_id:i offset:i rank:i val_add:i val_old:p size:i old:i"
)

// What completes operations of GASPI, and orders its ranks.
const (
	byWait          = "wait"
	byRareWait      = "wait every 100 steps"
	byNotifications = "notifications in a ring"
)

var gaspiBookends = &bookends{
	name: "GASPI",
	functions: map[string]string{
		"gaspi_proc_init": "rank:i result:i", "gaspi_proc_term": "",
		"gaspi_segment_create": "segment_id:i size:i group:i result:i base:p",
		"gaspi_write":          gaspiTransferArgs, "gaspi_read": gaspiTransferArgs,
		"gaspi_write_notify":     gaspiTransferArgs + " notification_id:i notification_value:i",
		"gaspi_notify":           "segment_id_remote:i rank:i notification_id:i notification_value:i queue:i",
		"gaspi_notify_waitsome":  "segment_id_local:i notification_begin:i num:i first_id:i",
		"gaspi_notify_reset":     "segment_id_local:i notification_id:i old_notification_val:i",
		"gaspi_wait":             "queue:i",
		"gaspi_barrier":          "group:i result:i",
		"gaspi_atomic_fetch_add": gaspiAtomicArgs,
		"gaspi_passive_send":     "segment_id_local:i offset_local:i rank:i size:i",
		"gaspi_passive_receive":  "segment_id_local:i offset_local:i rank:i size:i",
		"gaspi_read_notify":      gaspiTransferArgs + " notification_id:i",
	},
	begin: func(s *script) error {
		s.w.Info("program", "synthetic")
		s.call(1, "gaspi_proc_init", trace.Args{"rank": s.rank})
		s.call(2, "gaspi_segment_create", trace.Args{"size": windowBytes, "base": windowBase})
		return s.call(3, "gaspi_segment_create", trace.Args{"segment_id": 1, "size": windowBytes, "base": buffersBase})
	},
	end: func(s *script) error {
		s.call(4, "gaspi_barrier", nil)
		s.call(5, "gaspi_proc_term", nil)
		return s.close()
	},
}

// gaspiMatrix returns the patterns of GASPI.
func gaspiMatrix() (all []modelPattern) {
	operations := []string{"write", "read", "write_notify", "atomic_fetch_add"}
	done := []string{byWait, byRareWait, byNothing}
	orders := []string{noOrder, byNotifications, byBarrier, byRareOnes}
	for _, p := range combine(gaspiBookends, gaspiKernel, operations, done, orders, []string{oneStrand, poolOfOne, twoStrands}) {
		if p.operation == "atomic_fetch_add" && p.bytes == sharedBytes {
			continue // what they find would have to be made up
		}
		all = append(all, p)
	}
	return all
}

func gaspiKernel(p modelPattern, n int) func(*script) error {
	return func(s *script) error {
		p.steps(s, n, func(step, strand int) {
			if p.active(s) {
				p.gaspiWork(s, step, strand)
			}
		}, func(step, strand int) { p.gaspiOrder(s, step) })
		return nil
	}
}

// gaspiWork makes the operation of a step, and completes it.
func (p modelPattern) gaspiWork(s *script, step, strand int) {
	slot := p.slot(s, step, strand)
	a := trace.Args{"rank": p.target(s)}
	if p.operation == "atomic_fetch_add" {
		a["segment_id"], a["offset"], a["size"], a["val_add"] = 0, slot*element, element, 1
		a["old"], a["val_old"] = p.found(step), uint64(buffersBase)
	} else {
		a["segment_id_local"], a["offset_local"], a["segment_id_remote"] = 1, slot*element, 0
		a["offset_remote"], a["size"] = slot*element, element
	}
	if p.operation == "write_notify" { // of each process and strand one, which nobody waits for
		a["notification_id"], a["notification_value"] = 10+2*s.rank+strand, 1
	}
	s.call(23, "gaspi_"+p.operation, a)
	if p.done == byWait || p.done == byRareWait && rare(step) {
		s.call(24, "gaspi_wait", nil)
	}
}

// gaspiOrder orders the ranks behind a step.
func (p modelPattern) gaspiOrder(s *script, step int) {
	switch {
	case p.order == byNotifications:
		s.call(30, "gaspi_notify", trace.Args{"rank": (s.rank + 1) % s.ranks, "notification_value": step + 1})
		s.call(31, "gaspi_notify_waitsome", trace.Args{"num": 1})
		s.call(32, "gaspi_notify_reset", trace.Args{"old_notification_val": step + 1})
	case p.order == byBarrier, p.order == byRareOnes && rare(step):
		s.call(34, "gaspi_barrier", nil)
	}
}
