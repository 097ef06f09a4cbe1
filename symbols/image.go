package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Reasons why a frame has no source line.
const (
	reasonNoDebug   = "no debug information (compile with -g)"
	reasonNoUnit    = "no debug information for this function (compile its source with -g)"
	reasonNoLine    = "no source line: the compiler made this code itself"
	reasonRebuilt   = "the file has changed since the run (its build id differs)"
	reasonNotFound  = "the file is gone since the run"
	reasonNoFile    = "code that is in no file"
	reasonNoSymbols = "no symbols and no debug information (stripped)"
)

// image is what is known of a module's file.
type image struct {
	reason  string // why there is no debug information, "" when there is
	symbols []symbol
	objects []Placed   // variables of the symbol table
	info    *debugInfo // nil when there is none

	writable  [][2]uint64 // addresses of data
	once      sync.Once
	variables []Placed // see globals
}

// symbol is a function of the symbol table.
type symbol struct {
	lo, hi uint64 // hi == lo when its size is unknown
	name   string
}

// frames resolves one address of the image. It is not safe for concurrent use.
func (img *image) frames(addr uint64) []Frame {
	reason := img.reason
	if img.info != nil {
		frames, covered := img.info.frames(addr)
		if len(frames) > 0 {
			last := &frames[len(frames)-1]
			last.Func = cmp.Or(last.Func, img.function(addr))
			last.Part = strings.Contains(img.symbolAt(addr), partSuffix)
			return frames
		}
		reason = reasonNoUnit
		if covered {
			reason = reasonNoLine
		}
	}
	return []Frame{{Func: img.function(addr), Reason: reason}}
}

// function names the function of the symbol that holds addr, or returns "".
func (img *image) function(addr uint64) string { return sourceName(img.symbolAt(addr)) }

// symbolAt names the symbol that holds addr, or returns "".
func (img *image) symbolAt(addr uint64) string {
	i, found := slices.BinarySearchFunc(img.symbols, addr, func(s symbol, a uint64) int {
		return cmp.Compare(s.lo, a)
	})
	if !found {
		i--
	}
	if i < 0 || (img.symbols[i].hi > img.symbols[i].lo && addr >= img.symbols[i].hi) {
		return ""
	}
	return img.symbols[i].name
}

// loadImage reads the module's file and, when that lacks debug information,
// the separate file that belongs to it.
func loadImage(m Module, debugDirs []string) *image {
	if !filepath.IsAbs(m.Path) {
		return &image{reason: reasonNoFile} // "[vdso]" and the like
	}
	f, err := elf.Open(m.Path)
	if err != nil {
		img := &image{reason: reasonNotFound}
		if !errors.Is(err, fs.ErrNotExist) {
			img.reason = fmt.Sprintf("the file cannot be read: %v", err)
		}
		img.addByBuildID(m.BuildID, debugDirs)
		return img
	}
	defer f.Close()
	id := buildID(f)
	if m.BuildID != "" && id != "" && !strings.EqualFold(id, m.BuildID) {
		img := &image{reason: reasonRebuilt}
		img.addByBuildID(m.BuildID, debugDirs)
		return img
	}
	img := &image{reason: reasonNoDebug}
	img.add(f)
	if img.info == nil && !img.addByBuildID(id, debugDirs) {
		img.addByLink(f, m.Path, debugDirs)
	}
	if img.info == nil && len(img.symbols) == 0 {
		img.reason = reasonNoSymbols
	}
	return img
}

// add takes over what an ELF file has and the image lacks.
func (img *image) add(f *elf.File) {
	if syms := functionSymbols(f); len(syms) > len(img.symbols) {
		img.symbols = syms
	}
	if objects := dataSymbols(f); len(objects) > len(img.objects) {
		img.objects = objects
	}
	if len(img.writable) == 0 {
		img.writable = writableParts(f)
	}
	info, err := newDebugInfo(f)
	switch {
	case err != nil:
		img.reason = fmt.Sprintf("the debug information cannot be read: %v", err)
	case info != nil:
		img.info, img.reason = info, ""
	}
}

// addByBuildID takes over the debug file that is stored under a build id, and
// reports whether that gave debug information.
func (img *image) addByBuildID(id string, debugDirs []string) bool {
	if _, err := hex.DecodeString(id); err != nil || len(id) < 4 {
		return false
	}
	id = strings.ToLower(id)
	for _, dir := range debugDirs {
		f, err := elf.Open(filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
		if err != nil {
			continue
		}
		if other := buildID(f); other == "" || other == id {
			img.add(f)
		}
		f.Close()
		if img.info != nil {
			return true
		}
	}
	return false
}

// addByLink follows .gnu_debuglink: the name of a file and its checksum,
// searched beside the module, in .debug there, and under the debug roots.
func (img *image) addByLink(f *elf.File, path string, debugDirs []string) {
	name, sum, ok := debugLink(f)
	if !ok {
		return
	}
	dir := filepath.Dir(path)
	candidates := []string{filepath.Join(dir, name), filepath.Join(dir, ".debug", name)}
	for _, root := range debugDirs {
		candidates = append(candidates, filepath.Join(root, dir, name))
	}
	for _, c := range candidates {
		if c == path || !hasChecksum(c, sum) {
			continue
		}
		df, err := elf.Open(c)
		if err != nil {
			continue
		}
		img.add(df)
		df.Close()
		if img.info != nil {
			return
		}
	}
}

// debugLink reads .gnu_debuglink: a name, padded with zeros to 4 bytes, and
// the CRC-32 of the file.
func debugLink(f *elf.File) (name string, sum uint32, ok bool) {
	data := sectionData(f, ".gnu_debuglink")
	end := bytes.IndexByte(data, 0)
	if end <= 0 || len(data) < 4 {
		return "", 0, false
	}
	at := (end + 4) &^ 3
	if at+4 > len(data) {
		return "", 0, false
	}
	return filepath.Base(string(data[:end])), f.ByteOrder.Uint32(data[at:]), true
}

func hasChecksum(path string, sum uint32) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, f); err != nil {
		return false
	}
	return h.Sum32() == sum
}

// buildID returns the GNU build id in hexadecimal, or "".
func buildID(f *elf.File) string {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOTE {
			continue
		}
		if data, err := s.Data(); err == nil {
			if id := noteBuildID(data, f.ByteOrder); id != "" {
				return id
			}
		}
	}
	return ""
}

// noteBuildID looks for NT_GNU_BUILD_ID (3) of the owner "GNU" among notes:
// sizes of name and description, type, name and description, each padded to 4.
func noteBuildID(data []byte, order binary.ByteOrder) string {
	for len(data) >= 12 {
		nameLen, descLen := uint64(order.Uint32(data)), uint64(order.Uint32(data[4:]))
		kind := order.Uint32(data[8:])
		descAt := 12 + (nameLen+3)&^3
		end := descAt + (descLen+3)&^3
		if end > uint64(len(data)) {
			return ""
		}
		if kind == 3 && string(data[12:12+nameLen]) == "GNU\x00" {
			return hex.EncodeToString(data[descAt : descAt+descLen])
		}
		data = data[end:]
	}
	return ""
}

// functionSymbols returns the functions of the symbol table, or else of the
// dynamic one, sorted by address.
func functionSymbols(f *elf.File) []symbol {
	for _, read := range []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols} {
		table, err := read()
		if err != nil {
			continue
		}
		var syms []symbol
		for _, s := range table {
			if t := elf.ST_TYPE(s.Info); t != elf.STT_FUNC && t != elf.STT_GNU_IFUNC || s.Section == elf.SHN_UNDEF {
				continue
			}
			syms = append(syms, symbol{lo: s.Value, hi: s.Value + s.Size, name: s.Name})
		}
		if len(syms) == 0 {
			continue
		}
		slices.SortStableFunc(syms, func(a, b symbol) int {
			return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi), cmp.Compare(b.name, a.name))
		})
		return lastOfEach(syms)
	}
	return nil
}

// lastOfEach keeps one symbol an address: the longest, and of aliases the
// first in the alphabet.
func lastOfEach(syms []symbol) []symbol {
	out := syms[:0]
	for i, s := range syms {
		if i+1 < len(syms) && syms[i+1].lo == s.lo {
			continue
		}
		out = append(out, s)
	}
	return out
}

func sectionData(f *elf.File, name string) []byte {
	s := f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil
	}
	data, err := s.Data()
	if err != nil {
		return nil
	}
	return data
}

// hasDebugInfo reports whether an ELF file carries DWARF at all.
func hasDebugInfo(f *elf.File) bool { return infoSection(f) != "" }

// infoSection names the section that has it, or returns "".
func infoSection(f *elf.File) string {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s := f.Section(name); s != nil && s.Type != elf.SHT_NOBITS && s.Size > 0 {
			return name
		}
	}
	return ""
}
