package symbols

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableRoundTrip(t *testing.T) {
	a, b := Module{Path: "/bin/a", BuildID: "aa"}, Module{Path: "/lib/b"}
	table := &Table{}
	table.Add(b, 0x20, []Frame{{Func: "g", Reason: reasonNoDebug, Module: b.Path, Offset: 0x20}})
	table.Add(a, 0xffffffffffffffff, []Frame{{Func: "f<int>", File: "/s/a.cc", Line: 1, Column: 2, Inlined: true, Part: true, Module: a.Path, Offset: 0xffffffffffffffff},
		{Func: "main", File: "/s/a.cc", Line: 9, Module: a.Path, Offset: 0xffffffffffffffff}})
	var first, second bytes.Buffer
	require.NoError(t, table.Write(&first))
	back, err := ReadTable(&first)
	require.NoError(t, err)
	require.Equal(t, table.places, back.places)
	require.Equal(t, 2, back.Len())
	require.NoError(t, table.Write(&first))
	require.NoError(t, back.Write(&second))
	require.Equal(t, first.String(), second.String())
	require.Contains(t, second.String(), `"f<int>"`)
}

func TestEmptyTable(t *testing.T) {
	var none *Table
	_, ok := none.Lookup(Module{}, 1)
	require.False(t, ok)
	require.Zero(t, none.Len())
	var buf bytes.Buffer
	require.NoError(t, none.Write(&buf))
	back, err := ReadTable(&buf)
	require.NoError(t, err)
	require.Zero(t, back.Len())
}

func TestReadTableErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", ``, "EOF"},
		{"no JSON", `symbols`, "invalid character"},
		{"another version", `{"version":2}`, "version 2"},
		{"no version", `{}`, "version 0"},
		{"address", `{"version":1,"modules":[{"path":"a","places":[{"address":"x","frames":[{}]}]}]}`, `address "x"`},
		{"no frame", `{"version":1,"modules":[{"path":"a","places":[{"address":"0x1"}]}]}`, "has no frame"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadTable(strings.NewReader(test.in))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add([]byte(`{"version":1,"modules":[{"path":"a","places":[{"address":"0x1","frames":[{"func":"f"}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ReadTable(bytes.NewReader(data))
		if err != nil {
			return
		}
		require.NoError(t, table.Write(&bytes.Buffer{}))
	})
}
