package main

import (
	"strconv"
)

// setup is a compiler and an MPI library.
type setup struct {
	mpi      string // "openmpi" or "mpich"
	compiler string // "gcc" or "clang"
}

func (s setup) String() string { return s.mpi + ", " + s.compiler }

// setups are those measured. Open MPI comes first: the processes of MPICH spin
// while they wait, which disturbs them on a machine with other work.
func setups() []setup {
	return []setup{{"openmpi", "clang"}, {"openmpi", "gcc"}, {"mpich", "clang"}, {"mpich", "gcc"}}
}

// rounds is how often a program is launched: less often with MPICH.
func (s setup) rounds(n int) int {
	if s.mpi == "mpich" {
		return (n + 1) / 2
	}
	return n
}

// program is a kernel of bench/programs with its size and its aims.
type program struct {
	name      string // the source file below bench/programs, …
	language  string // … and how it ends: c or cc
	title     string
	arguments []int
	// Aims of the run time traced against plain; 0: none.
	clang, gcc float64
}

func (p program) aim(compiler string) float64 {
	if compiler == "clang" {
		return p.clang
	}
	return p.gcc
}

func (p program) args() []string {
	var args []string
	for _, a := range p.arguments {
		args = append(args, strconv.Itoa(a))
	}
	return args
}

// programs are the kernels: 2 processes, plain kernels of about 0.1 s where nothing else runs.
func programs() []program {
	return []program{
		{"stencil_halo", "c", "stencil, halo in a window", []int{512, 1024, 150}, 1.05, 1.05},
		{"stencil_grid", "c", "stencil, grid in a window", []int{512, 1024, 100}, 1.2, 1.2},
		{"compute", "c", "compute loop", []int{1000}, 1.02, 1.02},
		{"ring", "c", "ring of 64 KiB puts", []int{8192, 4000}, 1.1, 1.1},
		{"ring", "c", "ring of 8 byte puts", []int{1, 10000}, 1.4, 1.4},
		{"objects", "c", "objects beside a small window", []int{3000}, 1.2, 1.3},
		{"lu", "c", "blocked LU, matrix in a window", []int{64}, 2.5, 3},
		{"sparse", "c", "sparse matrix, vectors in a window", []int{40000, 200}, 2, 2.5},
		{"particles", "c", "particles with neighbours, in a window", []int{20000, 60}, 2, 2.5},
		{"sort", "cc", "sorting numbers in a window", []int{500000, 2}, 3, 3},
		{"fft", "c", "recursive Fourier transform in a window", []int{131072, 4}, 3, 3},
		{"tree", "c", "binary tree in a window", []int{50000, 3}, 3, 3},
		{"network", "c", "recursive sorting network in a window", []int{32768, 10}, 3, 3},
		{"forest", "c", "disjoint sets in a window", []int{100000, 20}, 3, 3},
		{"records", "cc", "records and tables in a window", []int{50000, 160, 10}, 3, 3},
		{"threads", "c", "stencil in a window, by 1 thread", []int{1, 1, 300}, 1.2, 1.2},
		{"threads", "c", "stencil in a window, by 8 threads", []int{8, 1, 300}, 1.2, 1.2},
		{"threads", "c", "listed elements in a window, by 1 thread", []int{1, 2, 300}, 2, 2.5},
		{"threads", "c", "listed elements in a window, by 8 threads", []int{8, 2, 300}, 2, 2.5},
		{"calls", "c", "small functions", []int{36, 3}, 1.1, 1.2},
	}
}
