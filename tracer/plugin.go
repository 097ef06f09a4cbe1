package tracer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A plug-in of the compiler (folder plugin) inlines the test whether a load or store
// matters, and announces loops as a whole. It is compiled by the user's compiler against
// the headers of that, once, and kept in the cache; without the headers it is done
// without.

// What can be said of a plug-in in place of its file.
const (
	pluginAuto = "auto" // the one that can be built
	pluginOff  = "off"
)

// Files of a built plug-in.
const (
	pluginObject  = "mcchk.so"
	pluginFailure = "failure.txt" // instead: why it cannot be built
)

// pluginSource is a file of a plug-in.
type pluginSource struct {
	name string
	text []byte
}

// pluginSources returns the files of the plug-in for a family of compilers: one to
// compile, first, and those that it includes.
func pluginSources(family string) ([]pluginSource, error) {
	var list []pluginSource
	for _, pattern := range []string{"plugin/" + family + ".cc", "plugin/" + family + "_*.h"} {
		paths, err := fs.Glob(pluginFiles, pattern)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			text, err := fs.ReadFile(pluginFiles, p)
			if err != nil {
				return nil, err
			}
			list = append(list, pluginSource{path.Base(p), text})
		}
	}
	return list, nil
}

// pluginFlags compile a plug-in.
var pluginFlags = []string{"-x", "c++", "-std=c++17", "-O2", "-fPIC", "-shared", "-fno-rtti", "-fno-exceptions", "-w"}

// errNoPlugin says that there is no plug-in for the compiler, and why.
var errNoPlugin = errors.New("no compiler plug-in")

// findPluginHeaders looks for the headers of the compiler underneath the wrapper. It
// returns their folder, "" when they are not there, and the files to be watched for
// changes of that.
func findPluginHeaders(ctx context.Context, t *tools, tc *Toolchain) (dir string, watched []string) {
	if tc.Family == familyClang {
		clang, err := filepath.EvalSymlinks(tc.underneath(t)[0])
		if err != nil || tc.LLVMLink == "" {
			return "", nil
		}
		dir = filepath.Join(filepath.Dir(filepath.Dir(clang)), "include")
		return thereWith(dir, filepath.Join(dir, "llvm", "Passes", "PassPlugin.h"))
	}
	libgcc, _, err := t.output(ctx, "", tc.command("-print-libgcc-file-name")...)
	if err != nil {
		return "", nil
	}
	dir = filepath.Join(filepath.Dir(strings.TrimSpace(libgcc)), "plugin", "include")
	dir, watched = thereWith(dir, filepath.Join(dir, "gcc-plugin.h"))
	if cc1plus, _, err := t.output(ctx, "", tc.command("-print-prog-name=cc1plus")...); err == nil {
		watched = append(watched, strings.TrimSpace(cc1plus))
	}
	return dir, watched
}

// thereWith returns a folder if a header is there, and what to watch for that.
func thereWith(dir, header string) (string, []string) {
	if _, err := os.Stat(header); err != nil {
		dir = ""
	}
	return dir, []string{header}
}

// underneath is the compiler that the wrapper runs, or the wrapper if it does not say.
func (t *Toolchain) underneath(tools *tools) []string {
	if words := strings.Fields(t.Show); len(words) > 0 {
		if path, err := tools.look(words[0]); err == nil {
			return []string{path}
		}
	}
	return t.command()
}

// pluginPackages are what Debian calls the packages that a plug-in needs.
func (t *Toolchain) pluginPackages() string {
	if t.Family == familyClang {
		return fmt.Sprintf("g++ llvm-%d-dev", t.major())
	}
	return fmt.Sprintf("g++-%d gcc-%[1]d-plugin-dev", t.major())
}

// plugin returns the plug-in for a toolchain, and builds it when the cache does not hold
// it. The error is errNoPlugin when it cannot be had.
func plugin(ctx context.Context, t *tools, c *cache, tc *Toolchain) (string, error) {
	if tc.PluginHeaders == "" {
		return "", fmt.Errorf("%w: %s has no headers for it (Debian: apt install %s)", errNoPlugin, tc.Compiler(), tc.pluginPackages())
	}
	sources, err := pluginSources(tc.Family)
	if err != nil {
		return "", err
	}
	shared := c.path("plugin", sharedPluginKey(t, tc, sources))
	dir := c.path("plugin", pluginKey(tc, sources))
	err = c.build(dir, func(dir string) error {
		err := c.build(shared, func(dir string) error { return buildPlugin(ctx, t, tc, dir, sources) })
		if err == nil {
			err = takePlugin(ctx, t, tc, filepath.Join(shared, pluginObject), filepath.Join(dir, pluginObject))
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, pluginFailure), []byte(err.Error()), 0o644)
	})
	if err != nil {
		return "", err
	}
	if why, err := os.ReadFile(filepath.Join(dir, pluginFailure)); err == nil {
		return "", fmt.Errorf("%w: it cannot be built (Debian: apt install %s):\n%s", errNoPlugin, tc.pluginPackages(), why)
	}
	return filepath.Join(dir, pluginObject), nil
}

// pluginKey names a plug-in as one that was tried with a toolchain.
func pluginKey(tc *Toolchain, sources []pluginSource) string {
	return keyOfPlugin(fmt.Sprintf("%q\n%q", tc.Compiler(), tc.Stamps), sources)
}

// sharedPluginKey names a plug-in by everything it is made of: one is for all drivers of
// a compiler, those for C, C++ and Fortran.
func sharedPluginKey(t *tools, tc *Toolchain, sources []pluginSource) string {
	driver := driverForC.Replace(tc.underneath(t)[0])
	return keyOfPlugin(fmt.Sprintf("%s %s\n%s", driver, tc.Version, stamp(tc.PluginHeaders)), sources)
}

func keyOfPlugin(made string, sources []pluginSource) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n", made, pluginFlags)
	for _, s := range sources {
		fmt.Fprintf(h, "%q\n%q\n", s.name, s.text)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// buildPlugin compiles a plug-in.
func buildPlugin(ctx context.Context, t *tools, tc *Toolchain, dir string, sources []pluginSource) error {
	for _, s := range sources {
		if err := os.WriteFile(filepath.Join(dir, s.name), s.text, 0o644); err != nil {
			return err
		}
	}
	file, object := filepath.Join(dir, sources[0].name), filepath.Join(dir, pluginObject)
	// The wrapper would have the plug-in need the MPI library.
	build := append(tc.underneath(t), pluginFlags...)
	_, _, err := t.output(ctx, "", append(build, "-I", tc.PluginHeaders, file, "-o", object)...)
	return err
}

// takePlugin gives a toolchain the plug-in of its compiler, and tries it.
func takePlugin(ctx context.Context, t *tools, tc *Toolchain, shared, object string) error {
	text, err := os.ReadFile(shared)
	if err == nil {
		err = os.WriteFile(object, text, 0o755)
	}
	if err != nil {
		return err
	}
	out, err := tryPlugin(ctx, t, tc, object)
	if err == nil && !strings.Contains(out, loopFunction) {
		err = fmt.Errorf("%s: the plug-in does nothing", tc.Compiler())
	}
	return err
}

// tryPlugin compiles a loop with a plug-in, to text.
func tryPlugin(ctx context.Context, t *tools, tc *Toolchain, object string) (string, error) {
	program := "int sum(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }\n"
	language := "c"
	if tc.Language == Fortran {
		program = "subroutine clear(p, n)\ninteger :: n, p(n), i\ndo i = 1, n\np(i) = i\nend do\nend subroutine\n"
		language = "f95"
	}
	first := append(tc.underneath(t), "-fsanitize=thread", "-O2", "-x", language, "-S", "-o", "-", "-")
	if tc.Family == familyGCC {
		out, _, err := t.output(ctx, program, append(first, "-fplugin="+object)...)
		return out, err
	}
	bitcode, _, err := t.output(ctx, program, append(first, "-emit-llvm", "-fno-vectorize", "-fno-unroll-loops")...)
	if err != nil {
		return "", err
	}
	out, _, err := t.output(ctx, bitcode, append(tc.underneath(t), "-O2", "-x", "ir", "-S", "-o", "-", "-", "-fpass-plugin="+object)...)
	return out, err
}
