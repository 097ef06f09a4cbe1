package tracer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// cache is the folder in which run-time libraries and what is known of
// toolchains are kept between commands. Commands may use it side by side.
type cache struct{ dir string }

// openCache finds the cache: $MCCHK_CACHE, else the user's cache folder.
func openCache(t *tools) (*cache, error) {
	dir := t.getenv("MCCHK_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no folder for the run-time library (set MCCHK_CACHE): %w", err)
		}
		dir = filepath.Join(user, "mcchk")
	}
	dir, err := filepath.Abs(within(t.dir, dir))
	if err != nil {
		return nil, err
	}
	if strings.Contains(dir, ",") {
		return nil, fmt.Errorf("cache %s: the linker cannot be given names with a comma; set MCCHK_CACHE to another folder", dir)
	}
	return &cache{dir: dir}, nil
}

func (c *cache) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

// write makes a file appear whole or not at all.
func (c *cache) write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cache (set MCCHK_CACHE to use another folder): %w", err)
	}
	return writeAtomically(path, data)
}

func writeAtomically(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// build makes the folder at path with a function that fills an empty one,
// unless it is there already. Of several processes one builds and the others
// wait; the folder appears whole or not at all.
func (c *cache) build(path string, fill func(dir string) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("cache (set MCCHK_CACHE to use another folder): %w", err)
	}
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	temp, err := os.MkdirTemp(parent, ".tmp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := fill(temp); err != nil {
		return err
	}
	// Without locks (some network file systems) another process may have been
	// faster; what it made is the same.
	if err := os.Rename(temp, path); err != nil {
		if _, e := os.Stat(path); e != nil {
			return err
		}
	}
	return nil
}

// lockFile waits for an exclusive lock on a file, which it creates. Where the
// file system has no locks it returns at once.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	return func() { f.Close() }, nil
}
