package trace

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// field is one member of a JSON object.
type field struct {
	key   string
	raw   []byte // its value
	col   int    // 1-based column of the value
	taken bool
}

// object is a line of JSON Lines, or an object in one. Its getters remember
// the first error, so that a line is checked once, at done.
type object struct {
	line   int
	col    int // 1-based column of its brace
	fields []field
	err    error
}

// parseObject reads one JSON object, which is all that text holds.
func parseObject(text []byte, line, col int) (*object, error) {
	o := &object{line: line, col: col}
	if !utf8.Valid(text) {
		return nil, o.at(0, "not UTF-8")
	}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, o.at(int(syntax.Offset)-1, syntax.Error())
		}
		return nil, o.at(0, err.Error())
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, o.at(0, "an object {…} is expected")
	}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var raw json.RawMessage
		if err == nil {
			err = d.Decode(&raw)
		}
		at := int(d.InputOffset()) - len(raw)
		if err != nil || !ok {
			return nil, o.at(at, fmt.Sprintf("a field and its value are expected: %v", err))
		}
		if o.index(name) >= 0 {
			return nil, o.at(at, fmt.Sprintf("field %q is there twice", name))
		}
		o.fields = append(o.fields, field{key: name, raw: raw, col: col + at})
	}
	return o, nil
}

func (o *object) at(offset int, what string) error {
	return fmt.Errorf("line %d, column %d: %s", o.line, o.col+offset, what)
}

func (o *object) index(key string) int {
	return slices.IndexFunc(o.fields, func(f field) bool { return f.key == key })
}

func (o *object) has(key string) bool { return o.index(key) >= 0 }

// get returns the field, which it marks as known, or nil.
func (o *object) get(key string) *field {
	i := o.index(key)
	if i < 0 {
		return nil
	}
	o.fields[i].taken = true
	return &o.fields[i]
}

func (o *object) fail(f *field, err error) {
	if o.err == nil {
		o.err = fmt.Errorf("line %d, column %d, field %q: %w", o.line, f.col, f.key, err)
	}
}

// need notes an error when a field is missing.
func (o *object) need(keys ...string) {
	for _, key := range keys {
		if !o.has(key) && o.err == nil {
			o.err = fmt.Errorf("line %d, column %d: field %q is missing", o.line, o.col, key)
		}
	}
}

// done returns the first error, which may be a field that nothing asked for.
func (o *object) done() error {
	for i := range o.fields {
		if f := &o.fields[i]; !f.taken {
			o.fail(f, errors.New("not known here"))
		}
	}
	return o.err
}

// word returns a number of 64 bits, def when it is not there.
func (o *object) word(key string, def int64) int64 {
	f := o.get(key)
	if f == nil {
		return def
	}
	v, err := parseWord(f.raw)
	if err != nil {
		o.fail(f, err)
	}
	return v
}

// upTo returns a number from 0 to limit, def when it is not there.
func (o *object) upTo(key string, limit, def uint64) uint64 {
	f := o.get(key)
	if f == nil {
		return def
	}
	v, err := parseWord(f.raw)
	if err == nil && (bytes.HasPrefix(f.raw, []byte("-")) || uint64(v) > limit) {
		err = fmt.Errorf("%s is not a number from 0 to %d", f.raw, limit)
	}
	if err != nil {
		o.fail(f, err)
		return def
	}
	return uint64(v)
}

func (o *object) u64(key string) uint64 { return o.upTo(key, math.MaxUint64, 0) }
func (o *object) u32(key string) uint32 { return uint32(o.upTo(key, math.MaxUint32, 0)) }

func (o *object) truth(key string, def bool) bool {
	f := o.get(key)
	if f == nil {
		return def
	}
	switch string(f.raw) {
	case "true":
		return true
	case "false":
		return false
	}
	o.fail(f, errors.New("true or false is expected"))
	return def
}

func (o *object) text(key string) string {
	f := o.get(key)
	if f == nil {
		return ""
	}
	s, err := parseText(f.raw)
	if err != nil {
		o.fail(f, err)
	}
	return s
}

func (o *object) words(key string) []int64 {
	f := o.get(key)
	if f == nil {
		return nil
	}
	list, err := parseWords(f.raw)
	if err != nil {
		o.fail(f, err)
	}
	return list
}

// object returns an object within this one; an empty one when it is missing
// or wrong, which is noted.
func (o *object) object(key string) *object {
	f := o.get(key)
	if f == nil {
		return &object{line: o.line, col: o.col}
	}
	in, err := parseObject(f.raw, o.line, f.col)
	if err != nil {
		if o.err == nil {
			o.err = err
		}
		return &object{line: o.line, col: f.col}
	}
	return in
}

// check passes the error of an inner object on.
func (o *object) check(in *object) {
	if err := in.done(); err != nil && o.err == nil {
		o.err = err
	}
}

// parseWord reads a number, an address ("0x…") or the name of a constant.
func parseWord(raw []byte) (int64, error) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, err
		}
		if v, ok := constants[text]; ok {
			return v, nil
		}
		digits, ok := strings.CutPrefix(text, "0x")
		v, err := strconv.ParseUint(digits, 16, 64)
		if !ok || err != nil {
			return 0, fmt.Errorf("%q is no number, no address such as \"0x1000\" and no known constant", text)
		}
		return int64(v), nil
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number of 64 bits", text)
	}
	return int64(v), nil
}

// Constant returns the value of a constant that traces written by hand may name,
// such as MPI_ANY_SOURCE.
func Constant(name string) (value int64, ok bool) {
	value, ok = constants[name]
	return value, ok
}

// constants may stand for their values in lines written by hand. It is never
// changed.
var constants = map[string]int64{
	"MPI_IN_PLACE":       InPlace,
	"MPI_BOTTOM":         0,
	"MPI_ANY_SOURCE":     AnySource,
	"MPI_PROC_NULL":      ProcNull,
	"MPI_ROOT":           RootRank,
	"MPI_UNDEFINED":      Undefined,
	"MPI_ANY_TAG":        AnyTag,
	"MPI_MODE_NOCHECK":   AssertNoCheck,
	"MPI_MODE_NOSTORE":   AssertNoStore,
	"MPI_MODE_NOPUT":     AssertNoPut,
	"MPI_MODE_NOPRECEDE": AssertNoPrecede,
	"MPI_MODE_NOSUCCEED": AssertNoSucceed,
	"MPI_LOCK_SHARED":    LockShared,
	"MPI_LOCK_EXCLUSIVE": LockExclusive,
	"MPI_COMM_WORLD":     CommWorld,
}

func parseRaw(raw []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("a list […] is expected")
	}
	return list, nil
}

func parseWords(raw []byte) ([]int64, error) {
	list, err := parseRaw(raw)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	words := make([]int64, len(list))
	for i := range list {
		if words[i], err = parseWord(list[i]); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return words, nil
}

// parseText is the inverse of appendText.
func parseText(raw []byte) (string, error) {
	if bytes.HasPrefix(raw, []byte("{")) {
		var in struct{ Bytes *string }
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil || in.Bytes == nil {
			return "", errors.New(`a string or {"bytes":"<hex>"} is expected`)
		}
		b, err := hex.DecodeString(*in.Bytes)
		return string(b), err
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", errors.New("a string is expected")
	}
	return *s, nil
}
