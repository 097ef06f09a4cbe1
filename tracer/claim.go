package tracer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Claim keeps a trace directory, which it makes if need be, for runs of this process and what
// is done with their traces, until release is called: another run would remove them, and the
// traces of its own be taken for them. Where the file system has no locks, Run notices in the
// end.
func Claim(dir string) (release func(), err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(dir)
	made := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("trace directory: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("trace directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == syscall.EWOULDBLOCK {
		f.Close()
		return nil, fmt.Errorf("trace directory %s: another mcchk run is at work there; give each a directory of its own with -o (a launcher comes behind mcchk run, as in: mcchk run -- mpiexec -n 2 ./app)", dir)
	}
	return func() {
		f.Close()
		if made {
			_ = os.Remove(dir) // if nothing came of it
		}
	}, nil
}

// replaced says that another run has taken the directory of a run meanwhile.
func replaced(dir, run string) error {
	if now, err := ReadRunRecord(dir); err == nil && now.Run != run {
		return fmt.Errorf("the traces in %s were replaced by those of another mcchk run, which began later: give each a directory of its own with -o", dir)
	}
	return nil
}
