package tracer

import (
	"embed"
	"io/fs"
)

// runtimeFiles are the sources of the run-time library.
//
//go:embed runtime/*.c runtime/*.h runtime/mpi.tbl
var runtimeFiles embed.FS

// runtimeSources is the folder of the run-time's sources.
func runtimeSources() fs.FS {
	sub, err := fs.Sub(runtimeFiles, "runtime")
	if err != nil {
		panic(err) // the name is a constant, and valid
	}
	return sub
}
