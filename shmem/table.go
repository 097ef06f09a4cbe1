package shmem

import (
	"strings"

	"github.com/mcchk/mcchk/core"
)

// entry is what the functions of one family mean. It is read beside the detection
// model, "OpenSHMEM". The texts are for people (docs/openshmem-calls.md).
type entry struct {
	do       func(*pe, *call)
	foresee  func(*pe, *call, *core.Foresight) // of a call to come: what it will do to a word
	scan     scanKind                          // what it is to a FetchScan
	kind     core.CallKind
	mayOrder bool // it may order processes, but need not
	aborts   bool
	signed   bool // its values are signed, where the name has no type
	results  bool // what it means depends on what it returned
	late     bool // no fence puts it after what came before, nor before what comes

	orders    string // whom
	completes string
	memory    string
	note      string
}

// function is what the name of a function says beside its family.
type function struct {
	family   string
	typename string // "" where it has none
	signed   bool
}

// unsigned and floating are the TYPENAMEs of the specification, all others are signed.
var typenames = map[string]string{
	"float": "float", "double": "double", "longdouble": "long double", "complexf": "float complex", "complexd": "double complex",
	"char": "int8", "schar": "int8", "short": "int16", "int": "int32", "long": "int64", "longlong": "int64",
	"uchar": "uint8", "ushort": "uint16", "uint": "uint32", "ulong": "uint64", "ulonglong": "uint64",
	"int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
	"uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
	"size": "uint64", "ptrdiff": "int64",
}

// element returns the type of the elements of an atomic operation: that of the
// function's name, and those of one size and sign count as one.
func (f function) element(size uint64) string {
	t := typenames[f.typename]
	if t == "int64" && size == 4 { // long, where it has four bytes
		return "int32"
	}
	if t == "uint64" && size == 4 {
		return "uint32"
	}
	return t
}

// lookup returns what a function means; nil: it is none of OpenSHMEM's.
func lookup(name string) (*entry, function) {
	for _, try := range []string{name, strings.Replace(name, "shmem_ctx_", "shmem_", 1)} {
		if e := table[try]; e != nil {
			return e, function{family: try}
		}
		rest, ok := strings.CutPrefix(try, "shmem_")
		if !ok {
			continue
		}
		if word, tail, ok := strings.Cut(rest, "_"); ok && typenames[word] != "" {
			family := "shmem_TYPE_" + tail
			if e := table[family]; e != nil {
				return e, function{family: family, typename: word, signed: !strings.HasPrefix(typenames[word], "u")}
			}
		}
		if family, sized := sizedFamily(try); sized {
			if e := table[family]; e != nil {
				return e, function{family: family}
			}
		}
	}
	return nil, function{}
}

// sizedFamily returns a name with SIZE in place of the number in it.
func sizedFamily(name string) (family string, ok bool) {
	at := strings.IndexAny(name, "0123456789")
	if at < 0 {
		return "", false
	}
	return name[:at] + "SIZE" + strings.TrimLeft(name[at:], "0123456789"), true
}

// atomicOp is an atomic operation.
type atomicOp struct {
	op      string
	fetches bool
	nbi     bool // what it fetches comes later
}

const (
	allToAll      = "all PEs of it to all"
	theContext    = "what is pending on its context"
	theDefault    = "what is pending on the default context"
	untilComplete = " until completed"
)

// table says what each family of functions means. A call that is not in it is not
// understood; an entry without `do` orders, completes and touches nothing.
var table = makeTable()

func makeTable() map[string]*entry {
	t := map[string]*entry{}
	for _, part := range []map[string]*entry{environment, memoryCalls, transfers, atomics(), setsAndTeams(), synchronization} {
		for name, e := range part {
			t[name] = e
		}
	}
	return t
}

var environment = map[string]*entry{
	"mcchk_Symmetric_data": {do: data, scan: scanData, kind: core.NoteCall},
	"shmem_init":           {do: start, kind: core.SynchronizingCall, orders: allToAll},
	"shmem_init_thread":    {do: start, kind: core.SynchronizingCall, orders: allToAll},
	"start_pes":            {do: start, kind: core.SynchronizingCall, orders: allToAll},
	"shmem_finalize":       {do: finalize, kind: core.SynchronizingCall, orders: allToAll, completes: "everything"},
	"shmem_global_exit":    {aborts: true, note: "nothing follows it"},

	"shmem_ctx_create":         {do: createContext},
	"shmem_team_create_ctx":    {do: createContext},
	"shmem_ctx_destroy":        {do: destroyContext, kind: core.SynchronizingCall, completes: theContext},
	"shmem_team_split_strided": {do: splitStrided, kind: core.SynchronizingCall, orders: allToAll},
	"shmem_team_split_2d":      {do: split2D, kind: core.SynchronizingCall, orders: allToAll},
	"shmem_team_destroy":       {do: destroyTeam},
}

var memoryCalls = map[string]*entry{
	"shmem_malloc":            {do: allocate, scan: scanMake, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shmem_calloc":            {do: allocate, scan: scanMake, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shmem_align":             {do: allocate, scan: scanMake, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shmem_malloc_with_hints": {do: allocate, scan: scanMake, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shmalloc":                {do: allocate, scan: scanMake, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shmemalign":              {do: allocate, scan: scanMake, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shmem_realloc":           {do: reallocate, scan: scanChange, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shrealloc":               {do: reallocate, scan: scanChange, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shmem_free":              {do: free, scan: scanFree, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shfree":                  {do: free, scan: scanFree, kind: core.SynchronizingCall, orders: allToAll, completes: theDefault},
	"shmem_ptr":               {do: pointer, scan: scanShow, note: "what it returns is the memory of the PE"},
	"shmem_team_ptr":          {do: pointer, scan: scanShow, note: "what it returns is the memory of the PE"},
}

// transfer families: TYPE, SIZE and mem.
var transfers = func() map[string]*entry {
	t := map[string]*entry{
		"shmem_signal_set": {do: signalDo("set"), foresee: foreseeSignal("set"), kind: core.OperationCall, memory: "updates sig_addr at the PE atomically" + untilComplete},
		"shmem_signal_add": {do: signalDo("add"), foresee: foreseeSignal("add"), kind: core.OperationCall, memory: "updates sig_addr at the PE atomically" + untilComplete},
		"shmem_TYPE_p":     {do: put, foresee: foreseePut, kind: core.OperationCall, memory: "writes dest at the PE" + untilComplete},
		"shmem_TYPE_g":     {do: get, kind: core.OperationCall, memory: "reads source at the PE"},
	}
	for _, f := range []struct {
		name  string
		entry entry
	}{
		{"put", entry{do: put, foresee: foreseePut, memory: "reads source, writes dest at the PE" + untilComplete}},
		{"get", entry{do: get, memory: "writes dest, reads source at the PE"}},
		{"iput", entry{do: put, memory: "reads source, writes dest at the PE" + untilComplete}},
		{"iget", entry{do: get, memory: "writes dest, reads source at the PE"}},
		{"ibput", entry{do: put, memory: "reads source, writes dest at the PE" + untilComplete}},
		{"ibget", entry{do: get, memory: "writes dest, reads source at the PE"}},
		{"put_nbi", entry{do: putNBI, foresee: foreseePut, memory: "reads source and writes dest at the PE" + untilComplete}},
		{"get_nbi", entry{do: getNBI, late: true, memory: "writes dest and reads source at the PE" + untilComplete}},
		{"put_signal", entry{do: putSignal, foresee: foreseePutSignal, memory: "reads source, writes dest and then updates sig_addr atomically at the PE" + untilComplete}},
		{"put_signal_nbi", entry{do: putSignalNBI, foresee: foreseePutSignal, memory: "reads source, writes dest and then updates sig_addr atomically at the PE" + untilComplete}},
	} {
		f.entry.kind = core.OperationCall
		first, rest, _ := strings.Cut(f.name, "_")
		if rest != "" {
			rest = "_" + rest
		}
		for _, name := range []string{"shmem_TYPE_" + f.name, "shmem_" + first + "SIZE" + rest, "shmem_" + first + "mem" + rest} {
			e := f.entry
			t[name] = &e
		}
	}
	for _, strided := range []string{"iput", "iget", "ibput", "ibget"} {
		delete(t, "shmem_"+strided+"mem")
	}
	return t
}()

func atomics() map[string]*entry {
	t := map[string]*entry{}
	add := func(name string, o atomicOp) {
		e := &entry{do: atomicDo(o), foresee: foreseeAtomic(o), kind: core.OperationCall, late: o.op == "fetch" && o.nbi}
		e.memory = "updates dest at the PE atomically"
		if o.op == "fetch" {
			e.memory = "reads source at the PE atomically"
		}
		if o.fetches && !o.nbi {
			e.scan, e.orders = scanFetch, "after the updates that it saw"
		}
		if !o.fetches || o.nbi {
			e.memory += untilComplete
		}
		t["shmem_TYPE_"+name] = e
	}
	for _, o := range []struct{ name, old, op string }{
		{"fetch", "fetch", "fetch"}, {"compare_swap", "cswap", "compare_swap"}, {"swap", "swap", "swap"},
		{"fetch_inc", "finc", "add"}, {"fetch_add", "fadd", "add"}, {"fetch_and", "", "and"}, {"fetch_or", "", "or"}, {"fetch_xor", "", "xor"},
	} {
		add("atomic_"+o.name, atomicOp{op: o.op, fetches: true})
		add("atomic_"+o.name+"_nbi", atomicOp{op: o.op, fetches: true, nbi: true})
		if o.old != "" {
			add(o.old, atomicOp{op: o.op, fetches: true})
		}
	}
	for _, o := range []struct{ name, old, op string }{
		{"set", "set", "set"}, {"inc", "inc", "add"}, {"add", "add", "add"}, {"and", "", "and"}, {"or", "", "or"}, {"xor", "", "xor"},
	} {
		add("atomic_"+o.name, atomicOp{op: o.op})
		if o.old != "" {
			add(o.old, atomicOp{op: o.op})
		}
	}
	return t
}

// setsAndTeams are the collective calls on active sets and on teams.
func setsAndTeams() map[string]*entry {
	t := map[string]*entry{
		"shmem_barrier_all": {do: barrierAll, foresee: foreseeQuiet, orders: allToAll, completes: theDefault},
		"shmem_barrier":     {do: barrierSet, foresee: foreseeQuiet, orders: allToAll, completes: theDefault},
		"shmem_sync_all":    {do: syncAll, orders: allToAll},
		"shmem_sync":        {do: syncSet, orders: allToAll},
		"shmem_team_sync":   {do: syncSet, orders: allToAll},
	}
	both := "reads source, writes dest"
	for _, f := range []struct {
		name  string
		entry entry
	}{
		{"broadcast", entry{do: broadcast, orders: "the root to all others", memory: "reads source at the root, writes dest"}},
		{"collect", entry{do: collect, orders: allToAll, memory: both}},
		{"fcollect", entry{do: gather(each), orders: allToAll, memory: both}},
		{"alltoall", entry{do: gather(each), orders: allToAll, memory: both}},
		{"alltoalls", entry{do: gather(each), orders: allToAll, memory: both}},
	} {
		for _, name := range []string{"shmem_TYPE_" + f.name, "shmem_" + f.name + "SIZE", "shmem_" + f.name + "mem"} {
			e := f.entry
			t[name] = &e
		}
	}
	for _, op := range []string{"and", "or", "xor", "max", "min", "sum", "prod"} {
		t["shmem_TYPE_"+op+"_to_all"] = &entry{do: gather(once), orders: allToAll, memory: both + " and pWrk"}
		t["shmem_TYPE_"+op+"_reduce"] = &entry{do: gather(once), orders: allToAll, memory: both}
	}
	for _, kind := range []string{"in", "ex"} {
		t["shmem_TYPE_sum_"+kind+"scan"] = &entry{do: scan, orders: "each PE before those behind it", memory: both}
	}
	for _, e := range t {
		e.kind = core.SynchronizingCall
	}
	return t
}

var synchronization = func() map[string]*entry {
	saw, sawIfTrue := "after the write that it saw", "when true: after the write that it saw"
	t := map[string]*entry{
		"shmem_fence":             {do: fence, note: "what its context issued takes effect at each PE before what it issues later"},
		"shmem_quiet":             {do: quiet, foresee: foreseeQuiet, kind: core.SynchronizingCall, completes: theContext},
		"shmem_pe_quiet":          {do: quietTo, kind: core.SynchronizingCall, completes: "what is pending on its context to the PEs that it names"},
		"shmem_set_lock":          {do: setLock, results: true, kind: core.SynchronizingCall, orders: "after the shmem_clear_lock before it", memory: "updates the lock atomically"},
		"shmem_test_lock":         {do: testLock, results: true, kind: core.SynchronizingCall, orders: "when it has taken the lock: after the shmem_clear_lock before it", memory: "updates the lock atomically"},
		"shmem_clear_lock":        {do: clearLock, foresee: foreseeQuiet, kind: core.SynchronizingCall, orders: "before the next holder of the lock", completes: theDefault},
		"shmem_signal_wait_until": waits((*call).one, saw),
		"shmem_signal_fetch":      {do: signalFetch, results: true, scan: scanFetch, foresee: foreseeLook, kind: core.SynchronizingCall, orders: "after the updates that it saw"},
		"shmem_wait":              waits((*call).one, saw),
		"shmem_TYPE_wait":         waits((*call).one, saw),
		"shmem_TYPE_wait_until":   waits((*call).one, saw),
		"shmem_TYPE_test":         waits((*call).one, sawIfTrue),
	}
	t["shmem_wait"].signed = true
	for name, of := range map[string]func(*call) []awaited{"all": (*call).all, "any": (*call).any, "some": (*call).some} {
		for _, vector := range []string{"", "_vector"} {
			t["shmem_TYPE_wait_until_"+name+vector] = waits(of, saw)
			t["shmem_TYPE_test_"+name+vector] = waits(of, sawIfTrue)
		}
	}
	return t
}()
