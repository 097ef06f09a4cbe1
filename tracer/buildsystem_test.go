//go:build !quick

package tracer

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMakeInParallel(t *testing.T) {
	t.Parallel()
	need(t, "make")
	const makefile = `OBJS := main.o lib.o $(foreach n,1 2 3 4 5 6,part$(n).o)
app: $(OBJS)
	$(CC) $(CFLAGS) -o $@ $^
%.o: %.c
	$(CC) $(CFLAGS) -MMD -c -o $@ $<
-include $(OBJS:.o=.d)
`
	for _, p := range platforms[1:3] { // both modes and libraries; each builds the run-time anew
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			parts := map[string]string{"Makefile": makefile}
			for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
				parts["part"+n+".c"] = "int part" + n + "(int *p) { return *p; }\n"
			}
			b.write(parts)
			cc, _, env := b.compilerLinks()
			// An empty cache: the jobs must agree on who builds the run-time.
			env = append(env, "MCCHK_CACHE="+b.path("cache"))
			b.command(env, "make", "-j4", "CC="+cc, "CFLAGS=-O2 -g")
			require.Empty(t, b.info("app").Uninstrumented)
			require.Len(t, b.info("app").Objects, 8)
			require.Contains(t, b.run("app"), "499500")
			require.Contains(t, b.command(env, "make", "CC="+cc), "up to date")

			entries, err := os.ReadDir(b.path("cache/runtime"))
			require.NoError(t, err)
			for _, e := range entries {
				require.False(t, strings.HasPrefix(e.Name(), ".tmp-"), "left over: %s", e.Name())
			}
		})
	}
}

func TestCMake(t *testing.T) {
	t.Parallel()
	need(t, "cmake", "make", "g++")
	const lists = `cmake_minimum_required(VERSION 3.13)
project(sums C CXX)
find_package(MPI REQUIRED)
include(CheckFunctionExists)
check_function_exists(malloc HAVE_MALLOC)
if(NOT HAVE_MALLOC)
  message(FATAL_ERROR "malloc not found")
endif()
add_library(sum SHARED lib.c)
add_library(other STATIC other.cpp)
add_executable(app main.c)
target_link_libraries(app PRIVATE sum other MPI::MPI_C m)
add_executable(app++ main.cpp)
target_link_libraries(app++ PRIVATE sum other MPI::MPI_CXX)
`
	for _, p := range platforms {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, p, sumFiles())
			b.write(map[string]string{
				"CMakeLists.txt": lists,
				"other.cpp":      "extern \"C\" int other(int *p) { return *p; }\n",
				"main.cpp":       "extern \"C\" {\n#include \"lib.h\"\nint other(int *);\n}\n" + strings.ReplaceAll(strings.ReplaceAll(mainSource, "#include \"lib.h\"", ""), "sum(", "other(numbers) + sum("),
			})
			cc, cxx, env := b.compilerLinks()
			b.command(env, "cmake", "-S", ".", "-B", "build", "-DCMAKE_C_COMPILER="+cc, "-DCMAKE_CXX_COMPILER="+cxx, "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
			b.command(env, "cmake", "--build", "build", "-j2")
			for _, program := range []string{"build/app", "build/app++"} {
				info := b.info(program)
				require.Equal(t, ModeInline, info.Mode)
				require.Empty(t, info.Uninstrumented)
				require.Contains(t, strings.Join(info.Objects, " "), "libsum.so")
				require.Contains(t, strings.Join(info.Objects, " "), "libother.a(other.cpp.o)")
				require.Contains(t, b.run(program), "499500")
			}
		})
	}
}
