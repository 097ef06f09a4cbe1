// Package tracer gets an MPI program traced: it compiles the program with load
// and store instrumentation, links it with the run-time that writes trace
// files, and starts it.
//
// Compile stands in for the user's MPI compiler wrapper (mpicc, mpicxx). It
// adds the compiler's thread-sanitizer instrumentation to compilations and the
// run-time library (folder runtime, embedded here) to links of executables; all
// else is passed on as it is. With clang and llvm-link the test whether an
// access matters is inlined into the program (mode "inline"); otherwise it is a
// call (mode "call"). The run-time is built once for each MPI library and
// compiler, and kept in a cache.
//
// Run starts a program with a fresh trace directory, and Doctor says whether
// compilers, MPI library and a given binary are as they must be.
//
// The package promises never to change what the program computes, and to delete
// nothing but files that mcchk made.
package tracer
