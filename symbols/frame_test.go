package symbols

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHere(t *testing.T) {
	user := Frame{Func: "main", File: "/home/u/a.cpp", Line: 7}
	header := Frame{Func: "operator[]", File: "/usr/include/c++/12/bits/stl_vector.h", Line: 1123}
	blank := Frame{Func: "work", Module: "/home/u/app", Reason: "no debug information (compile with -g)"}
	start := Frame{Func: "__libc_start_call_main", File: "csu/libc_start_call_main.h", Line: 58}
	tests := []struct {
		name  string
		stack []Frame
		want  Frame
	}{
		{"user code", []Frame{user, start}, user},
		{"inlined from a header", []Frame{header, user, start}, user},
		{"only headers", []Frame{header}, header},
		{"no debug information", []Frame{blank, start}, blank},
		{"a header called from code without debug information", []Frame{header, blank, user}, header},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Here(tt.stack)
			require.True(t, ok)
			require.Equal(t, tt.want, got)
		})
	}
	_, ok := Here(nil)
	require.False(t, ok)
}
