package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// MPI-IO (MPI 4.1, chapter 14). What these calls do to files is not looked at;
// their buffers in memory are. Collective calls on files may or may not
// synchronise (14.1): they order nothing here, and the Machine remembers that
// they were met; with core.Options.FullOrder, each orders all who call it.

// fileGroup tells how the members of a file take part in a call on it.
type fileGroup uint8

const (
	noFile   fileGroup = iota // it is no collective call on a file
	together                  // they call it
	begun                     // they begin it, and each completes it
	ended                     // they end what each began
	opened                    // they open the file
)

// sharedFile is a file that the processes of a communicator have opened.
type sharedFile struct {
	calls core.MeetKey
	group *core.Group
	waits []core.Wait // of the split collective call that has begun
	done  func()
}

// ofFile brings a process to a collective call on a file, where such calls order: returned
// is what it then waits for, and what is to be done when it has waited.
func (m *Model) ofFile(p *process, c *core.Call, key core.MeetKey, g *core.Group) (signals []*core.Signal, waits []core.Wait, done func()) {
	return p.Join(c, core.Meeting{Key: p.take(key), Group: g, Dir: core.Everybody, Root: core.NoRoot})
}

// openFile: the files that are opened on a communicator are told apart by their number.
func openFile(m *Model, p *process, c *core.Call, _ *entry) {
	if !m.FullOrder() {
		return
	}
	g, key := m.group(p, c, argComm), core.MeetKey{On: c.Int(argComm), Of: opening}
	if g == nil {
		return
	}
	signals, waits, done := m.ofFile(p, c, key, g)
	p.shared[c.Int(argFh)] = &sharedFile{calls: core.MeetKey{On: key.On, Of: onFile + p.order.sequence(key).calls}, group: g}
	p.Synchronize(c, signals, waits, done)
}

// onSharedFile: a collective call on a file, of which `do` is what it does to memory.
func onSharedFile(m *Model, p *process, c *core.Call, r *entry, do func(*Model, *process, *core.Call, *entry)) {
	if do != nil {
		do(m, p, c, r)
	}
	if !m.FullOrder() {
		return
	}
	f := p.shared[c.Int(argFh)]
	if f == nil {
		p.MayHaveOrdered(c.Fn.Name)
		return
	}
	if r.group == ended {
		waits, done := f.waits, f.done
		f.waits, f.done = nil, nil
		p.Synchronize(c, nil, waits, done)
		return
	}
	signals, waits, done := m.ofFile(p, c, f.calls, f.group)
	switch r.group {
	case together:
		p.Synchronize(c, signals, waits, done)
		return
	case begun:
		if !c.Has(argRequest) {
			f.waits, f.done = waits, done
		} else if req := p.requests.requests[c.Int(argRequest)]; req != nil {
			req.waits, req.after = waits, func(*regions.CallInfo) { done() }
		}
		p.Synchronize(c, signals, nil, nil)
	}
}

// fileAccess returns the access to the buffer of a read or write.
func (m *Model) fileAccess(p *process, c *core.Call, r *entry) (regions.Access, bool) {
	role, kind := SendBuffer, regions.Read
	if r.reads {
		role, kind = ReceiveBuffer, regions.Write
	}
	return m.messageBuffer(p, c, argBuf, argCount, argDatatype, role, kind)
}

func doFile(m *Model, p *process, c *core.Call, r *entry) {
	if a, ok := m.fileAccess(p, c, r); ok {
		if r.reads {
			p.receivedBytes(&a, c, argCount, argDatatype)
		}
		if !a.Layout.IsEmpty() {
			p.Instant(a)
		}
	}
}

func doStartFile(m *Model, p *process, c *core.Call, r *entry) {
	req := &request{}
	if a, ok := m.fileAccess(p, c, r); ok {
		req.spans = append(req.spans, p.openBuffer(a))
	}
	m.addRequest(p, c, req)
}

func doBeginFile(m *Model, p *process, c *core.Call, r *entry) {
	if a, ok := m.fileAccess(p, c, r); ok {
		fh := c.Int(argFh)
		s := p.openBuffer(a)
		s.Of = splitFile(fh)
		p.files[fh] = s
	}
}

func doEndFile(_ *Model, p *process, c *core.Call, _ *entry) {
	key := c.Int(argFh)
	if s := p.files[key]; s != nil {
		s.Complete(p.Now(), p.Info(c))
		delete(p.files, key)
	}
}

// fileCalls makes the rules of MPI-IO.
func fileCalls() map[string]*entry {
	t := map[string]*entry{}
	const note = "a collective call on a file may order processes: where that matters, the verdict is undecided"
	shared := func(g fileGroup, do func(*Model, *process, *core.Call, *entry), e entry) *entry {
		e.group, e.mayOrder, e.note = g, true, note
		e.do = func(m *Model, p *process, c *core.Call, r *entry) { onSharedFile(m, p, c, r, do) }
		return &e
	}
	t["MPI_File_open"] = &entry{do: openFile, group: opened, mayOrder: true, note: note}
	for _, name := range []string{
		"close", "set_size", "preallocate", "set_info", "set_view", "set_atomicity", "seek_shared", "sync",
	} {
		t["MPI_File_"+name] = shared(together, nil, entry{})
	}
	for _, dir := range []struct {
		name  string
		reads bool
		does  string
	}{{"read", true, "writes buf"}, {"write", false, "reads buf"}} {
		one, later := entry{reads: dir.reads, memory: dir.does}, entry{reads: dir.reads, memory: untilDone(dir.does)}
		for _, suffix := range []string{"", "_at", "_shared"} {
			x, y := one, later
			x.do, y.do = doFile, doStartFile
			t["MPI_File_"+dir.name+suffix], t["MPI_File_i"+dir.name+suffix] = &x, &y
		}
		for _, suffix := range []string{"_all", "_at_all", "_ordered"} {
			t["MPI_File_"+dir.name+suffix] = shared(together, doFile, one)
			if suffix != "_ordered" {
				t["MPI_File_i"+dir.name+suffix] = shared(begun, doStartFile, later)
			}
			end := "MPI_File_" + dir.name + suffix + "_end"
			t["MPI_File_"+dir.name+suffix+"_begin"] = shared(begun, doBeginFile, entry{reads: dir.reads, end: end, memory: dir.does + ", until the call that ends it"})
			t[end] = shared(ended, doEndFile, entry{completes: "the buffer"})
		}
	}
	return t
}
