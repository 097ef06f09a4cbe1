package symbols

import (
	"math/rand/v2"
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

// TestPathOfStacksWithoutRecursion: of a function the tracer writes its innermost frame in a stack alone, which
// must not change the path, but for what is inlined in the others.
func TestPathOfStacksWithoutRecursion(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	layers := []Layer{Application, Application, Application, Library}
	shorter := 0
	for range 20_000 {
		var places [8][]Frame // by program counter
		for i := range places {
			for range 1 + r.IntN(3) {
				name := string(rune('a' + r.IntN(5)))
				f := Frame{Func: name, File: name + ".c", Line: 1 + r.IntN(4), Layer: layers[r.IntN(len(layers))], Inlined: true}
				if r.IntN(12) == 0 {
					f.Func += " {OpenMP region}"
				}
				places[i] = append(places[i], f)
			}
			last := &places[i][len(places[i])-1]
			last.Inlined, last.Part = false, r.IntN(6) == 0
		}
		var whole, once []Frame
		seen := map[Frame]bool{} // functions
		for range r.IntN(20) {
			frames := places[r.IntN(len(places))]
			own := frames[len(frames)-1]
			if function := (Frame{Func: own.Func, Part: own.Part}); !seen[function] {
				once = Append(once, frames)
				seen[function] = true
			} else {
				frames = frames[len(frames)-1:]
			}
			whole = Append(whole, frames)
		}
		if len(once) < len(whole) {
			shorter++
		}
		require.Equal(t, lines(Path(whole)), lines(Path(once)))
	}
	require.Greater(t, shorter, 10_000)
}

// lines are frames as findings compare them.
func lines(frames []Frame) []Frame {
	var list []Frame
	for _, f := range frames {
		list = append(list, Frame{Func: f.Func, File: f.File, Line: f.Line, Layer: f.Layer})
	}
	return list
}

// TestAppend: a part of a function and the rest of it, which is inlined where it is called, are
// one frame; a function that calls itself is several.
func TestAppend(t *testing.T) {
	put := func(line int, part, inlined bool) Frame {
		return Frame{Func: "put", File: "a.c", Line: line, Part: part, Inlined: inlined}
	}
	entry := func(name string, line int) Frame { return Frame{Func: name, File: "a.f", Line: line} }
	main := Frame{Func: "main", File: "a.c", Line: 26}
	for name, tt := range map[string]struct{ from, to, want []Frame }{
		"a part, and the rest inlined":    {[]Frame{put(12, true, false)}, []Frame{put(26, false, true), main}, []Frame{put(12, false, false), main}},
		"the rest is not inlined":         {[]Frame{put(12, true, false)}, []Frame{put(9, false, false)}, []Frame{put(12, false, false)}},
		"a part that calls the function":  {[]Frame{put(12, true, false)}, []Frame{put(14, false, true), put(15, true, false)}, []Frame{put(12, false, false), put(15, true, false)}},
		"the part of another function":    {[]Frame{put(12, true, false)}, []Frame{main}, []Frame{put(12, true, false), main}},
		"a whole function, and recursion": {[]Frame{put(12, false, false)}, []Frame{put(14, false, false), main}, []Frame{put(12, false, false), put(14, false, false), main}},
		"an entry of a procedure":         {[]Frame{{Func: "MPI_Put"}, {Func: "master.0.put", File: "a.f", Line: 30}}, []Frame{entry("put", 1), main}, []Frame{{Func: "MPI_Put"}, {Func: "put", File: "a.f", Line: 30}, main}},
		"another entry":                   {nil, []Frame{{Func: "master.12.put", File: "a.f", Line: 30, Inlined: true}, entry("more", 13), main}, []Frame{{Func: "put", File: "a.f", Line: 30}, main}},
		"the procedure alone":             {nil, []Frame{{Func: "master.0.put", File: "a.f", Line: 30}, main}, []Frame{{Func: "master.0.put", File: "a.f", Line: 30}, main}},
		"a call that is none of an entry": {nil, []Frame{{Func: "master.0.put", File: "a.f", Line: 30}, entry("more", 40)}, []Frame{{Func: "master.0.put", File: "a.f", Line: 30}, entry("more", 40)}},
		"the first frames":                {nil, []Frame{put(12, true, false)}, []Frame{put(12, true, false)}},
	} {
		require.Equal(t, tt.want, Append(tt.from, tt.to), name)
	}
}
