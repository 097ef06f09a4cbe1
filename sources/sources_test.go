package sources

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// memory is a machine with some files.
type memory map[string]string

func (m memory) ReadFile(path string) ([]byte, error) {
	if text, ok := m[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (m memory) ModTime(path string) time.Time {
	if _, ok := m[path]; ok {
		return time.Unix(100, 0)
	}
	return time.Time{}
}

// again writes source text and reads it back.
func again(t require.TestingT, s *Stored) *Stored {
	var buf bytes.Buffer
	require.NoError(t, s.Write(&buf))
	require.LessOrEqual(t, buf.Len(), maxStored)
	got, err := ReadStored(&buf)
	require.NoError(t, err)
	return got
}

// TestKeptLinesAreThoseOfTheFile: whatever a file holds, the lines around each
// recorded one come back as they were, and no others.
func TestKeptLinesAreThoseOfTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(
			rapid.StringMatching(`[ \t]*[a-z <>&"\\]*\r?`),
			rapid.Map(rapid.SliceOfN(rapid.ByteMin(11), 0, 9), func(b []byte) string { return string(b) }),
		)
		lines := rapid.SliceOfN(line, 0, 60).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		if rapid.Bool().Draw(t, "ends with a line feed") {
			text += "\n"
		}
		recorded := rapid.SliceOfN(rapid.IntRange(-1, 70), 0, 5).Draw(t, "recorded")
		places := []Place{{"missing.c", 3}}
		for _, n := range recorded {
			places = append(places, Place{"a.c", n})
		}

		kept := Keep(places, memory{"a.c": text})
		got := again(t, kept)
		require.Equal(t, kept, got)
		require.Nil(t, got.file("missing.c"))
		r := NewReader(got, nil)
		for n := -1; n < 80; n++ {
			want := ""
			for _, at := range recorded {
				if at >= 1 && max(at-n, n-at) <= Around && n >= 1 && n <= len(lines) {
					want = lines[n-1]
				}
			}
			require.Equal(t, want, r.Line("a.c", n), "line %d", n)
		}
		if file := got.file("a.c"); file != nil {
			require.Zero(t, file.leftOut)
			for i := 1; i < len(file.stretches); i++ {
				require.Greater(t, file.stretches[i].first, file.stretches[i-1].end(), "stretches that meet are one")
			}
		}
	})
}

// crowded is a file that has more recorded lines than there is room for, and the
// places of them; the lines between are short.
func crowded(line string) (files memory, places []Place) {
	const distance = 2*Around + 2
	var text strings.Builder
	for n := distance; n*len(line)/distance < maxKept+1<<20; n += distance {
		text.WriteString(strings.Repeat(";\n", distance-1) + line + "\n")
		places = append(places, Place{"a.c", n})
	}
	return memory{"a.c": text.String()}, places
}

// TestRoom: what is kept is bounded, says what is missing, and prefers what was
// recorded.
func TestRoom(t *testing.T) {
	for name, line := range map[string]string{
		"letters": strings.Repeat("x", 1000), "latin 1": strings.Repeat("\xff", 1000), "controls": strings.Repeat("\x01", 1000),
		"quotes": strings.Repeat(`"`, 1000), "separators": strings.Repeat("\u2028", 333),
	} {
		t.Run(name, func(t *testing.T) {
			files, places := crowded(line)
			kept := Keep(places, files)
			require.Equal(t, kept, again(t, kept))
			r, there := NewReader(kept, nil), 0
			for there < len(places) && r.Line("a.c", places[there].Line) == line {
				there++
			}
			require.Greater(t, there, 1000)
			require.Less(t, there, len(places))
			for _, p := range places[there:] {
				if r.Line("a.c", p.Line) != "" {
					t.Fatalf("line %d is kept, and one before it is not", p.Line)
				}
			}
			require.GreaterOrEqual(t, kept.file("a.c").leftOut, len(places)-there)
			require.Equal(t, line, NewReader(kept, files).Line("a.c", places[len(places)-1].Line), "from the file, which is the same")
		})
	}
}

func TestRoomForFiles(t *testing.T) {
	files, places := memory{}, []Place{}
	for i := range 100 {
		name := fmt.Sprintf("%02d%s", i, strings.Repeat("n", maxKept/90))
		files[name], places = "a\n", append(places, Place{name, 1})
	}
	kept := Keep(places, files)
	require.Greater(t, kept.leftOut, 9)
	require.Len(t, kept.files, 100-kept.leftOut)
	require.Equal(t, kept, again(t, kept))
}

func TestLongLine(t *testing.T) {
	files := memory{"a.c": "a\n" + strings.Repeat("x", maxLine+1) + "\nb\n" + strings.Repeat("y", maxLine)}
	r := NewReader(Keep([]Place{{"a.c", 3}}, files), nil)
	require.Equal(t, "a", r.Line("a.c", 1))
	require.Empty(t, r.Line("a.c", 2))
	require.Equal(t, "b", r.Line("a.c", 3))
	require.Len(t, r.Line("a.c", 4), maxLine)
	require.Equal(t, 1, r.stored.file("a.c").leftOut)
}

// twenty is a file of twenty lines.
func twenty(letter string) string {
	var text strings.Builder
	for n := range 20 {
		fmt.Fprintf(&text, "%s%d\n", letter, n+1)
	}
	return text.String()
}

func TestReader(t *testing.T) {
	was := memory{"a.c": twenty("a"), "b.c": twenty("b"), "c.c": twenty("c")}
	kept := Keep([]Place{{"a.c", 5}, {"b.c", 5}, {"c.c", 5}}, was)
	now := memory{"a.c": twenty("a"), "b.c": twenty("new"), "d.c": twenty("d")}
	r := NewReader(kept, now)
	for _, test := range []struct {
		name string
		file string
		line int
		want string
	}{
		{"kept", "a.c", 5, "a5"},
		{"not kept, in a file that is as it was", "a.c", 20, "a20"},
		{"kept, in a file that has changed", "b.c", 5, "b5"},
		{"not kept, in a file that has changed", "b.c", 20, ""},
		{"kept, in a file that is gone", "c.c", 5, "c5"},
		{"not kept, in a file that is gone", "c.c", 20, ""},
		{"in a file of which nothing was kept", "d.c", 5, "d5"},
		{"behind the end", "d.c", 21, ""},
		{"before the beginning", "d.c", 0, ""},
		{"no file", "", 1, ""},
	} {
		require.Equal(t, test.want, r.Line(test.file, test.line), test.name)
	}
	for file, changed := range map[string]bool{"a.c": false, "b.c": true, "c.c": false, "d.c": false, "": false} {
		require.Equal(t, changed, r.Changed(file), file)
	}
	var none *Reader
	require.Empty(t, none.Line("a.c", 5))
	require.False(t, none.Changed("b.c"))
	require.Equal(t, "a5", NewReader(nil, was).Line("a.c", 5))
	require.False(t, NewReader(nil, now).Changed("b.c"))
}

func TestDisk(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(path("a.c"), []byte("a\n"), 0o600))
	data, err := Disk{}.ReadFile(path("a.c"))
	require.NoError(t, err)
	require.Equal(t, "a\n", string(data))

	require.NoError(t, unix.Mkfifo(path("pipe"), 0o600))
	for _, name := range []string{path("pipe"), dir, "/dev/zero"} {
		_, err = Disk{}.ReadFile(name)
		require.ErrorContains(t, err, "no regular file", name)
	}
	require.NoError(t, os.WriteFile(path("large"), nil, 0o600))
	require.NoError(t, os.Truncate(path("large"), maxSource+1))
	_, err = Disk{}.ReadFile(path("large"))
	require.ErrorContains(t, err, "larger than")
	_, err = Disk{}.ReadFile(path("none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestBrokenFiles(t *testing.T) {
	const hash = `"sha256":"d91d1fb914cc14ce87b77191e76f5cc623c2e56e9c6da392978c2d2dbd54b217"`
	file := func(rest string) string { return `{"version":1,"files":[{"name":"a.c",` + hash + rest + `}]}` }
	for text, want := range map[string]string{
		"":                                       "unexpected end",
		"null":                                   "version 0",
		`{"version":1,"files":[`:                 "unexpected end",
		`{"version":2,"files":[]}`:               "version 2, this program reads version 1",
		`{"version":1,"files":[]} {"version":1}`: "after top-level value",
		`{"version":1,"files":[null]}`:           "no name",
		`{"version":1,"files":[{"name":"a.c","sha256":"abc"}]}`:                       "no SHA-256",
		`{"version":1,"files":[{"name":"",` + hash + `}]}`:                            "no name",
		`{"version":1,"files":[{"name":"a",` + hash + `},{"name":"a",` + hash + `}]}`: `"a" is there twice`,
		file(`,"left_out":-1`):                                                                "number of lines left out",
		file(`,"stretches":[null]`):                                                           "0 lines from line 0 on",
		file(`,"stretches":[{"first":0,"lines":["a"]}]`):                                      "from line 0 on",
		file(`,"stretches":[{"first":99999999999,"lines":["a"]}]`):                            "from line 99999999999 on",
		file(`,"stretches":[{"first":1,"lines":[]}]`):                                         "0 lines",
		file(`,"stretches":[{"first":1,"lines":["a\nb"]}]`):                                   "line 1 is several",
		file(`,"stretches":[{"first":1,"lines":["a"]},{"first":2,"lines":["a"]}]`):            `"a.c": line 2 is out of order`,
		file(`,"stretches":[{"first":1,"latin1":true,"lines":["ok","\u0100"]}]`):              "line 2: a character that stands for no byte",
		file(`,"stretches":[{"first":1,"lines":["` + strings.Repeat("x", maxStored) + `"]}]`): "larger than",
	} {
		_, err := ReadStored(strings.NewReader(text))
		require.ErrorContains(t, err, want, text[:min(len(text), 200)])
		require.ErrorContains(t, err, "read source text")
	}
}

func FuzzReadStored(f *testing.F) {
	var seed bytes.Buffer
	require.NoError(f, Keep([]Place{{"a.c", 2}, {"b.c", 9}}, memory{"a.c": twenty("\xe4"), "b.c": twenty("b")}).Write(&seed))
	f.Add(seed.Bytes())
	f.Add([]byte(`{"version":1,"files":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadStored(bytes.NewReader(data))
		if err != nil {
			return
		}
		r := NewReader(s, nil)
		for name, file := range s.files {
			for _, stretch := range file.stretches {
				for i, line := range stretch.lines {
					require.Equal(t, line, r.Line(name, stretch.first+i))
				}
			}
			r.Line(name, 1)
		}
		var buf bytes.Buffer
		require.NoError(t, s.Write(&buf))
		if buf.Len() <= maxStored {
			back, err := ReadStored(&buf)
			require.NoError(t, err)
			require.Equal(t, s, back)
		}
	})
}

func TestNewer(t *testing.T) {
	files := memory{"a.c": "x\n", "b.c": "y\n"}
	r := NewReader(Keep([]Place{{"a.c", 1}}, files), files)
	before, after := time.Unix(99, 0), time.Unix(101, 0)
	require.True(t, r.Newer("b.c", before))
	require.False(t, r.Newer("b.c", after))
	require.False(t, r.Newer("a.c", before), "its text was kept")
	require.False(t, r.Newer("c.c", before), "it is not there")
	require.False(t, (*Reader)(nil).Newer("b.c", before))
}
