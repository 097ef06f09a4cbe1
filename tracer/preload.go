package tracer

import (
	"context"
	"errors"
)

const envPreload = "LD_PRELOAD"

// preload returns the variable with which the dynamic linker loads the run-time into
// programs that were not compiled with mcchk, and makes the library where that was not
// done before.
func preload(ctx context.Context, t *tools, mpicc string) (string, error) {
	wrapper, err := findWrapper(t, target{MPI, C}, mpicc)
	if err != nil {
		return "", err
	}
	c, err := openCache(t)
	if err != nil {
		return "", err
	}
	tc, err := loadToolchain(ctx, t, c, target{MPI, C}, wrapper)
	if err != nil {
		return "", err
	}
	l, err := preloadLibrary(ctx, t, c, tc, runtimeSources())
	if err != nil {
		return "", err
	}
	value := l.path(preloadFile)
	if others := t.getenv(envPreload); others != "" {
		value += ":" + others
	}
	return envPreload + "=" + value, nil
}

// ErrNotLoaded is ErrNoTraces for a program into which the run-time was to be loaded.
var ErrNotLoaded = errors.New("no traces were written: did the program call MPI_Init, where traces begin, " +
	"and is it linked dynamically, with the MPI library of mpicc, or of what --mpicc names?")
