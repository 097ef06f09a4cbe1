package tracer

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// testTimeout bounds every program that the tests start.
const testTimeout = 5 * time.Minute

// TestMain lets the test binary stand in for the command: a link to it named
// mcchk-cc or mcchk-cxx is a compiler.
func TestMain(m *testing.M) {
	if o, ok := CompilerNamed(os.Args[0]); ok {
		o.Args, o.Stdin, o.Stdout, o.Stderr = os.Args[1:], os.Stdin, os.Stdout, os.Stderr
		code, err := Compile(context.Background(), o)
		if err != nil {
			fmt.Fprintln(os.Stderr, "mcchk:", err)
		}
		os.Exit(code)
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	cache := os.Getenv("MCCHK_CACHE") // what it holds is known by all it was made of
	if cache == "" {
		var err error
		cache, err = os.MkdirTemp("", "mcchk-test-cache-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(cache)
	}
	for name, value := range map[string]string{
		"MCCHK_CACHE": cache, "MCCHK_COMPILER": "", "MCCHK_MPICC": "", "MCCHK_MPICXX": "", "MCCHK_PLUGIN": "", "MCCHK_VERBOSE": "",
		"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
		// Open MPI yields of itself only where one run has more processes than there are processors.
		"OMPI_MCA_mpi_yield_when_idle": "1",
	} {
		os.Setenv(name, value)
	}
	return m.Run()
}
