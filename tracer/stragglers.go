package tracer

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// endStragglers kills what a launcher that was ended has left behind on this
// host: the processes that carry the run's identifier in their environment. A
// launcher that is killed, or that does not know its processes (that of another
// MPI library), leaves them spinning.
func endStragglers(run string) {
	mark := []byte(envRunID + "=" + run)
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return // no /proc: nothing can be known
	}
	for _, path := range environs {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(path)
		if err != nil {
			continue // another user's, or gone
		}
		for entry := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(entry, mark) {
				// It may have ended by now; then there is nothing to do.
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}
