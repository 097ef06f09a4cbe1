package models

import (
	"github.com/mcchk/mcchk/mpi"
	"github.com/mcchk/mcchk/shmem"
	"github.com/mcchk/mcchk/trace"
)

// Fetched says where operations may fetch what others have left, or wait for it: what nobody
// can see orders nothing. Of a nil Fetched that is not known.
type Fetched struct {
	mpi   *mpi.Fetched
	shmem *shmem.Fetched
}

func (f *Fetched) ofMPI() *mpi.Fetched {
	if f == nil {
		return nil
	}
	return f.mpi
}

func (f *Fetched) ofOpenSHMEM() *shmem.Fetched {
	if f == nil {
		return nil
	}
	return f.shmem
}

// FetchScan finds that out of the calls of one process, for each model.
type FetchScan struct {
	mpi   *mpi.FetchScan
	shmem *shmem.FetchScan
}

// NewFetchScan returns a scan that has seen no call yet.
func NewFetchScan() *FetchScan { return &FetchScan{mpi.NewFetchScan(), shmem.NewFetchScan()} }

// Done reports whether further calls cannot change anything.
func (s *FetchScan) Done() bool { return s.mpi.Done() && s.shmem.Done() }

// Call takes the next call of the process.
func (s *FetchScan) Call(c *trace.Call) {
	s.mpi.Call(c)
	s.shmem.Call(c)
}

// FetchedBy returns what the scans of all processes have found together, by rank; nil: there is
// none of it.
func FetchedBy(scans []*FetchScan) *Fetched {
	var ofMPI []*mpi.FetchScan
	var ofOpenSHMEM []*shmem.FetchScan
	for _, s := range scans {
		if s == nil {
			ofOpenSHMEM = append(ofOpenSHMEM, nil)
			continue
		}
		ofMPI, ofOpenSHMEM = append(ofMPI, s.mpi), append(ofOpenSHMEM, s.shmem)
	}
	return &Fetched{mpi.FetchedBy(ofMPI), shmem.FetchedBy(ofOpenSHMEM)}
}
