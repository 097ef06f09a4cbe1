package tracer

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// runtimeFiles are the sources of the run-time library.
//
//go:embed runtime/*.c runtime/*.h runtime/mpi.tbl runtime/shmem/* runtime/gaspi/*
var runtimeFiles embed.FS

// pluginFiles are the sources of the compiler plug-ins.
//
//go:embed plugin/*.cc plugin/*.h
var pluginFiles embed.FS

// publicHeader is what programs include to declare order.
//
//go:embed include/mcchk.h
var publicHeader []byte

// includeDir returns a folder of the cache with the public header.
func includeDir(c *cache) (string, error) {
	sum := sha256.Sum256(publicHeader)
	dir := c.path("include", hex.EncodeToString(sum[:8]))
	err := c.build(dir, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "mcchk.h"), publicHeader, 0o644)
	})
	if err != nil {
		return "", fmt.Errorf("mcchk.h: %w", err)
	}
	return dir, nil
}

// runtimeSources is the folder of the run-time's sources.
func runtimeSources() fs.FS {
	sub, err := fs.Sub(runtimeFiles, "runtime")
	if err != nil {
		panic(err) // the name is a constant, and valid
	}
	return sub
}
