package trace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// alive reports whether the process that writes the file may still live. It holds a lock
// on the file as long as it does, which other nodes see as well where the file system has
// such locks; on this one, it has the file mapped.
func (f *follower) alive() bool { return alive(f.file.path, &f.head, &f.locked) }

// alive is the same of any trace. locked remembers that the lock was seen.
func alive(path string, head *Header, locked *bool) bool {
	held, known := lockHeld(path)
	if held {
		*locked = true
		return true
	}
	host, err := os.Hostname()
	if err != nil || host != head.Host {
		return !known || !*locked
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", head.PID))
	if err != nil {
		return unix.Kill(head.PID, 0) != unix.ESRCH && !os.IsNotExist(err)
	}
	return bytes.Contains(maps, []byte("/"+filepath.Base(path)))
}

// anyAlive reports whether one of the processes whose traces are there may still live.
func (d *Dir) anyAlive() bool {
	locked := false
	return slices.ContainsFunc(d.Files, func(f File) bool { return alive(f.Path, &f.Header, &locked) })
}

// lockHeld reports whether a process holds the lock on a trace, where that can be known.
func lockHeld(path string) (held, known bool) {
	f, err := os.Open(path)
	if err != nil {
		return false, false
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return false, false
	}
	return lock.Type != unix.F_UNLCK, true
}
