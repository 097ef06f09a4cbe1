package mpi

import (
	"github.com/mcchk/mcchk/core"
	"github.com/mcchk/mcchk/regions"
)

// MPI-IO (MPI 4.1, chapter 14). What these calls do to files is not looked at;
// their buffers in memory are. Collective calls on files may or may not
// synchronise (14.1): they order nothing here, and the Machine remembers that
// they were met.

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
	for _, name := range []string{
		"open", "close", "set_size", "preallocate", "set_info", "set_view", "set_atomicity", "seek_shared", "sync",
	} {
		t["MPI_File_"+name] = &entry{mayOrder: true, note: note}
	}
	for _, dir := range []struct {
		name  string
		reads bool
		does  string
	}{{"read", true, "writes buf"}, {"write", false, "reads buf"}} {
		for suffix, collective := range map[string]bool{"": false, "_at": false, "_shared": false, "_all": true, "_at_all": true, "_ordered": true} {
			n := ""
			if collective {
				n = note
			}
			t["MPI_File_"+dir.name+suffix] = &entry{do: doFile, reads: dir.reads, mayOrder: collective, memory: dir.does, note: n}
			if suffix != "_ordered" {
				t["MPI_File_i"+dir.name+suffix] = &entry{do: doStartFile, reads: dir.reads, mayOrder: collective, memory: untilDone(dir.does), note: n}
			}
			if collective {
				t["MPI_File_"+dir.name+suffix+"_begin"] = &entry{do: doBeginFile, reads: dir.reads, mayOrder: true,
					memory: dir.does + ", until the call that ends it", note: note}
				t["MPI_File_"+dir.name+suffix+"_end"] = &entry{do: doEndFile, mayOrder: true, completes: "the buffer", note: note}
			}
		}
	}
	return t
}
