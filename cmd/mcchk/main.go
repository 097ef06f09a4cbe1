// Command mcchk finds memory consistency errors (data races) in MPI one-sided
// programs: it compiles and runs a program traced, and analyses the traces.
//
// Each command is one file: an options value whose flags are added by
// addFlags, and a plain function that calls the packages that do the work.
// Findings go to standard output; progress and diagnostics to standard error.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(realMain())
}

func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	watchMemory(os.Stderr, os.Getenv)
	context.AfterFunc(ctx, stop) // a second signal ends at once
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, backend: realBackend()}
	return a.run(ctx, os.Args)
}
