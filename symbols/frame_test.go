package symbols

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	user   = Frame{Func: "main", File: "/home/u/a.cpp", Line: 7, Module: "/home/u/app"}
	header = Frame{Func: "operator[]", File: "/usr/include/c++/12/bits/stl_vector.h", Line: 1123, Module: "/home/u/app"}
	blank  = Frame{Func: "work", Module: "/home/u/app", Reason: "no debug information (compile with -g)"}
	start  = Frame{Func: "__libc_start_call_main", File: "csu/libc_start_call_main.h", Line: 58, Module: "/lib/x86_64-linux-gnu/libc.so.6"}
	put    = Frame{Func: "Window::put", File: "/home/u/wrap/window.cpp", Line: 35, Module: "/home/u/app"}
	halo   = Frame{Func: "halo_put", Module: "/home/u/lib/libhalo.so.1"}
)

// marked returns a stack as Layers marks it.
func marked(l Layers, frames ...Frame) []Frame {
	l.Mark(frames)
	return frames
}

func TestHere(t *testing.T) {
	layers := Layers{Libraries: []string{"libhalo*"}, Wrappers: []string{"wrap"}}
	tests := []struct {
		name  string
		stack []Frame
		want  Frame
	}{
		{"user code", []Frame{user, start}, user},
		{"inlined from a header", []Frame{header, user, start}, user},
		{"only headers", []Frame{header}, header},
		{"no debug information", []Frame{blank, start}, blank},
		{"no debug information, called from where there is some", []Frame{blank, user}, user},
		{"a header called from code without debug information", []Frame{header, blank, user}, user},
		{"a wrapper", []Frame{put, user, start}, user},
		{"a library without debug information", []Frame{halo, user, start}, user},
		{"nothing but libraries and wrappers", []Frame{header, put}, header},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Here(marked(layers, tt.stack...))
			require.True(t, ok)
			got.Layer = ""
			require.Equal(t, tt.want, got)
		})
	}
	_, ok := Here(nil)
	require.False(t, ok)
}

func TestMark(t *testing.T) {
	layersOf := func(l Layers, frames ...Frame) []Layer {
		var out []Layer
		for _, f := range marked(l, frames...) {
			out = append(out, f.Layer)
		}
		return out
	}
	require.Equal(t, []Layer{Library, Application, Library}, layersOf(Layers{}, header, user, start))
	require.Equal(t, []Layer{Wrapper, Library, Application}, layersOf(Layers{Libraries: []string{"lib/libhalo.so*"}, Wrappers: []string{"/home/u/wrap"}}, put, halo, user))
	require.Equal(t, []Layer{Application, Application, Library},
		layersOf(Layers{}, Frame{Func: "MAIN__", File: "a.f90"}, Frame{Func: "main", File: "a.f90"}, Frame{Func: "_start", Module: "/home/u/app"}),
		"what called main")
	require.Equal(t, []Layer{Application}, layersOf(Layers{}, Frame{Func: "f", File: "/home/u/f.c", Module: "/opt/x/bin/app"}), "a program in a folder of the system")
	require.Equal(t, []Layer{Library}, layersOf(Layers{}, Frame{Func: "GOMP_task", File: "/home/u/mcchk-runtime/openmp.c", Module: "/home/u/app"}), "the tracer itself")
	require.Equal(t, []Layer{Library}, layersOf(Layers{}, Frame{Func: "H5Dwrite", File: "/build/hdf5/src/H5D.c", Module: "/usr/lib/x86_64-linux-gnu/libhdf5.so.103"}))
}

func TestFitsPath(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"third_party", "/home/u/third_party/x/y.c", true},
		{"third_party/", "/home/u/third_party/x/y.c", true},
		{"third_party/x", "/home/u/third_party/x/y.c", true},
		{"third_party/y.c", "/home/u/third_party/x/y.c", false},
		{"y.c", "/home/u/third_party/x/y.c", true},
		{"./x/y.c", "/home/u/x/y.c", true},
		{"*/y.c", "x/y.c", true},
		{"/home", "/home/u/y.c", true},
		{"/u", "/home/u/y.c", false},
		{"wrap*.cpp", "src/wrap_mpi.cpp", true},
		{"wrap*.cpp", "wrap/mpi.cpp", false},
		{"libx.so*", "/a/libx.so.3", true},
		{"x", "", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, fitsPath(tt.pattern, tt.path), "%s of %s", tt.pattern, tt.path)
	}
	for _, pattern := range []string{"", "/", "*", "**", ".", "a[", "*/*"} {
		require.ErrorIs(t, CheckPattern(pattern), ErrPattern, "%q", pattern)
	}
	require.NoError(t, CheckPattern("third_party/*"))
}

func TestPath(t *testing.T) {
	f := func(name string, line int) Frame { return Frame{Func: name, File: "a.c", Line: line} }
	tests := []struct {
		name        string
		stack, want []Frame
	}{
		{"without libraries, with wrappers", []Frame{header, put, user, start}, []Frame{put, user}},
		{"only libraries", []Frame{header, start}, []Frame{header, start}},
		{"recursion", []Frame{f("walk", 3), f("walk", 2), f("walk", 2), f("main", 9)}, []Frame{f("walk", 3), f("main", 9)}},
		{"mutual recursion", []Frame{f("a", 1), f("b", 2), f("a", 3), f("b", 2), f("main", 9)}, []Frame{f("a", 1), f("b", 2), f("main", 9)}},
		{"unknown functions", []Frame{{Offset: 1}, {Offset: 2}}, []Frame{{Offset: 1}, {Offset: 2}}},
		{"executed by somebody", []Frame{f("put", 3), f("work {OpenMP region}", 2), f("work {OpenMP region}", 1), f("main", 9)}, []Frame{f("put", 3), f("work {OpenMP region}", 2)}},
		{"nothing", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Path(marked(Layers{Wrappers: []string{"wrap"}}, tt.stack...))
			for i := range got {
				got[i].Layer = ""
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// TestAppend: a part of a function and the rest of it, which is inlined where it is called, are
// one frame; a function that calls itself is several.
func TestAppend(t *testing.T) {
	put := func(line int, part, inlined bool) Frame {
		return Frame{Func: "put", File: "a.c", Line: line, Part: part, Inlined: inlined}
	}
	main := Frame{Func: "main", File: "a.c", Line: 26}
	for name, tt := range map[string]struct{ from, to, want []Frame }{
		"a part, and the rest inlined":    {[]Frame{put(12, true, false)}, []Frame{put(26, false, true), main}, []Frame{put(12, false, false), main}},
		"the rest is not inlined":         {[]Frame{put(12, true, false)}, []Frame{put(9, false, false)}, []Frame{put(12, false, false)}},
		"a part that calls the function":  {[]Frame{put(12, true, false)}, []Frame{put(14, false, true), put(15, true, false)}, []Frame{put(12, false, false), put(15, true, false)}},
		"the part of another function":    {[]Frame{put(12, true, false)}, []Frame{main}, []Frame{put(12, true, false), main}},
		"a whole function, and recursion": {[]Frame{put(12, false, false)}, []Frame{put(14, false, false), main}, []Frame{put(12, false, false), put(14, false, false), main}},
		"the first frames":                {nil, []Frame{put(12, true, false)}, []Frame{put(12, true, false)}},
	} {
		require.Equal(t, tt.want, Append(tt.from, tt.to), name)
	}
}
