package symbols

import (
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
		{"two callers", [][]Frame{fence(left, first), fence(right, first), fence(left, first)}, []site{{35, "Window::fence"}, {44, "Window::fence"}, {35, "Window::fence"}}},
		{"two callers of a caller", [][]Frame{fence(left, first), fence(left, second), fence(right, first)}, []site{{7, "Window::fence"}, {9, "Window::fence"}, {44, "Window::fence"}}},
		{"one called from the other's place", [][]Frame{fence(left), fence(left, first)}, []site{{12, ""}, {7, "Window::fence"}}},
		{"frames of libraries do not count", [][]Frame{fence(nameless, left), fence(left)}, []site{{12, ""}, {12, ""}}},
		{"no source", [][]Frame{fence(Frame{Func: "a", Module: "x"}, first), fence(Frame{Func: "b", Module: "x"}, first)}, []site{{12, ""}, {12, ""}}},
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
