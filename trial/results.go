package trial

import "github.com/mcchk/mcchk/trace"

// fetchedNote is the tracer's note of what operations have fetched.
const fetchedNote = "mcchk_Fetched"

// results is what operations of a process have fetched, as the tracer tells it behind the
// call that completed them: a call that is put in completes them sooner.
type results struct {
	into map[uint64]int64 // the last operation that puts what it fetches at an address
	at   map[int64]uint64 // where operations put it that are not told of yet
	told map[int64]int64  // by the tracer's number
}

// note takes a call, and returns of how many operations it told what they fetched. Of those
// that had a result buffer in common, that is what the last one did.
func (r *results) note(c *trace.Call) (told int) {
	if addr, ok := c.Arg("result_addr"); ok {
		if number, _ := c.Arg("number"); number.Int != 0 {
			r.into[uint64(addr.Int)], r.at[number.Int] = number.Int, uint64(addr.Int)
		}
		return 0
	}
	if c.Fn.Name != fetchedNote {
		return 0
	}
	numbers, _ := c.Arg("numbers")
	values, _ := c.Arg("values")
	for i := range min(len(numbers.List), len(values.List)) {
		n := numbers.List[i]
		addr, ok := r.at[n]
		if !ok {
			continue
		}
		delete(r.at, n)
		if r.into[addr] == n {
			delete(r.into, addr)
			r.told[n] = values.List[i]
			told++
		}
	}
	return told
}
