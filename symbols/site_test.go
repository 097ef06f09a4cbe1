package symbols

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTellApart(t *testing.T) {
	frame := func(function, file string, line int) Frame { return Frame{Func: function, File: file, Line: line} }
	fence := func(rest ...Frame) []Frame {
		return append([]Frame{frame("Window::fence", "window.hpp", 12)}, rest...)
	}
	left, right := frame("left", "halo.cpp", 35), frame("right", "halo.cpp", 44)
	first, second := frame("main", "main.cpp", 7), frame("main", "main.cpp", 9)
	wrapper := func(f Frame) Frame { f.Layer = Wrapper; return f }
	inner := func(rest ...Frame) []Frame { return append([]Frame{wrapper(fence()[0])}, rest...) }
	init, other := wrapper(frame("Lock::Lock", "lock.cpp", 51)), frame("Window<int>::fence", "window.hpp", 12)
	nameless := Frame{Module: "/x/libx.so", Offset: 0x10, Layer: Library}

	type site struct {
		line   int
		within string
	}
	tests := []struct {
		name   string
		stacks [][]Frame
		want   []site
	}{
		{"one path", [][]Frame{fence(left, first), fence(left, first)}, []site{{12, ""}, {12, ""}}},
		{"two callers", [][]Frame{fence(left, first), fence(right, first), fence(left, first)}, []site{{35, "Window::fence at window.hpp:12"}, {44, "Window::fence at window.hpp:12"}, {35, "Window::fence at window.hpp:12"}}},
		{"two callers of a caller", [][]Frame{fence(left, first), fence(left, second), fence(right, first)}, []site{{7, "Window::fence at window.hpp:12"}, {9, "Window::fence at window.hpp:12"}, {44, "Window::fence at window.hpp:12"}}},
		{"one called from the other's place", [][]Frame{fence(left), fence(left, first)}, []site{{12, ""}, {7, "Window::fence at window.hpp:12"}}},
		{"frames of libraries do not count", [][]Frame{fence(nameless, left), fence(left)}, []site{{12, ""}, {12, ""}}},
		{"no source", [][]Frame{fence(Frame{Func: "a", Module: "x"}, first), fence(Frame{Func: "b", Module: "x"}, first)}, []site{{12, ""}, {12, ""}}},
		{"within one line", [][]Frame{inner(init, first), inner(wrapper(left), first)}, []site{{51, "Lock::Lock"}, {35, "left"}}},
		{"one of them directly", [][]Frame{inner(init, first), inner(first)}, []site{{51, "Lock::Lock"}, {7, ""}}},
		{"two instances of a template", [][]Frame{fence(left), {other, right}}, []site{{35, "Window::fence at window.hpp:12"}, {44, "Window<int>::fence at window.hpp:12"}}},
		{"other places", [][]Frame{fence(left), {frame("Window::fence", "window.hpp", 13), right}}, []site{{12, ""}, {13, ""}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			TellApart(test.stacks)
			var got []site
			for _, s := range test.stacks {
				f, within, ok := Site(s)
				require.True(t, ok)
				got = append(got, site{f.Line, within})
			}
			require.Equal(t, test.want, got)
		})
	}
	_, _, ok := Site(nil)
	require.False(t, ok)
	TellApart([][]Frame{nil, {nameless}})
}

func TestTellWithin(t *testing.T) {
	in := func(function, file string, line int) Frame {
		return Frame{Func: function, File: file, Line: line, Layer: Wrapper}
	}
	raw, unlock := in("fetch_raw", "window.cpp", 65), in("unlock", "window.cpp", 38)
	app, other := Frame{Func: "migrate", File: "a.cpp", Line: 52}, Frame{Func: "migrate", File: "a.cpp", Line: 60}
	fetch := func() []Frame { return []Frame{raw, in("send", "mailbox.cpp", 23), app} }
	load := func() []Frame { return []Frame{in("send", "mailbox.cpp", 24), app} }
	placeOf := func(stack []Frame) string {
		f, within, _ := Site(stack)
		return fmt.Sprint(f.File, f.Line, within)
	}

	a, b, end, far := fetch(), load(), []Frame{unlock, in("~Guard", "epoch.cpp", 6), in("send", "mailbox.cpp", 27), app}, []Frame{unlock, other}
	TellWithin(a, b, [][]Frame{end, far, nil, {app}})
	require.Equal(t, []string{"mailbox.cpp23send", "mailbox.cpp24send", "mailbox.cpp27send", "a.cpp60"}, []string{placeOf(a), placeOf(b), placeOf(end), placeOf(far)})
	here, _ := Here(a)
	require.Equal(t, "a.cpp", here.File) // reports point at it as before

	a, b = fetch(), []Frame{in("send", "mailbox.cpp", 23), app} // the one is made where the other is called
	TellWithin(a, b, nil)
	require.Equal(t, []string{"a.cpp52", "a.cpp52"}, []string{placeOf(a), placeOf(b)})

	a, b = fetch(), []Frame{in("send", "mailbox.cpp", 24), other}
	TellWithin(a, b, nil)
	require.Equal(t, []string{"a.cpp52", "a.cpp60"}, []string{placeOf(a), placeOf(b)})

	TellWithin(nil, fetch(), nil)
}

func TestTellBeside(t *testing.T) {
	in := func(function string, line int) Frame { return Frame{Func: function, File: "m.f90", Line: line} }
	access := []Frame{in("step", 15), in("first", 20), in("main", 40)}
	sync := func(line int, rest ...Frame) []Frame {
		return append([]Frame{in("sync", 10), in("step", line)}, append(rest, in("main", 40))...)
	}
	placeOf := func(stack []Frame) string {
		f, within, _ := Site(stack)
		return fmt.Sprint(f.Line, " ", within)
	}

	before, behind := sync(14, in("first", 20)), sync(17, in("first", 20))
	before[2].Site, behind[2].Site = true, true // tells them from those of another caller
	direct := []Frame{in("step", 16), in("first", 20), in("main", 40)}
	elsewhere := []Frame{in("sync", 10), in("finish", 30)}
	TellBeside(access, [][]Frame{before, behind, direct, elsewhere, before})
	require.Equal(t, []string{"14 sync at line 10", "17 sync at line 10", "16 ", "10 "},
		[]string{placeOf(before), placeOf(behind), placeOf(direct), placeOf(elsewhere)})

	one, other := sync(14, in("first", 20)), sync(14, in("second", 23))
	one[2].Site, other[2].Site = true, true
	TellBeside(access, [][]Frame{one, other})
	require.Equal(t, []string{"20 sync at line 10", "23 sync at line 10"}, []string{placeOf(one), placeOf(other)}, "they would be the same")
}
