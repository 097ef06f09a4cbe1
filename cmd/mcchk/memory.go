package main

import (
	"runtime/debug"

	"github.com/mcchk/mcchk/config"
)

// bytesValue is a flag that is a size.
type bytesValue struct {
	bytes int64
	text  string
}

func (v *bytesValue) String() string {
	if v.text == "" {
		return "0"
	}
	return v.text
}

func (v *bytesValue) Type() string { return "size" }

func (v *bytesValue) Set(text string) error {
	n, err := config.ParseBytes(text)
	if err != nil {
		return err
	}
	v.bytes, v.text = n, text
	return nil
}

// limit returns the size, and lets the collector keep to it where there is one.
func (v *bytesValue) limit() int64 {
	if v.bytes > 0 {
		debug.SetMemoryLimit(v.bytes)
	}
	return v.bytes
}
