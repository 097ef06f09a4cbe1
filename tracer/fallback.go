package tracer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
)

// runCompiler runs the wrapper with arguments that may have it load the plug-in. Where
// that fails, and the same without the plug-in does not, the fault is the plug-in's: the
// user is told, and what the second attempt made stands. Then there is no plug-in for the
// rest of the source.
func (c *compilation) runCompiler(ctx context.Context, source string, args func() []string) (int, error) {
	code, err := c.wrapperRun(ctx, args())
	if code == 0 || err != nil || c.plugin == pluginOff || source == "-" { // standard input has been read
		return code, err
	}
	if code >= 128 || interrupted(ctx) {
		return code, context.Cause(ctx)
	}
	plugin := c.plugin
	c.plugin = pluginOff
	var said bytes.Buffer
	if again, err := c.wrapperRunTo(ctx, &said, args()); again != 0 || err != nil {
		c.plugin = plugin
		if c.tc.Family == familyGCC { // it loads plug-ins before it looks at the source
			if _, failure := tryPlugin(ctx, &c.tools, c.tc, plugin); failure != nil && ctx.Err() == nil {
				_, _ = c.tools.stderr.Write(said.Bytes())
			}
		}
		return code, err // else it is the source, and what the first attempt said stands
	}
	fmt.Fprintf(c.tools.stderr, "mcchk: %s: the compiler fails with mcchk's plug-in, as it says above, and not without: "+
		"compiled without, so that tracing it is slower\n", source)
	return 0, nil
}

// interrupted reports whether a compiler failed because the user has interrupted it: a signal that
// goes to all processes of a terminal may come to that one first.
func interrupted(ctx context.Context) bool {
	const soon = 100 * time.Millisecond
	select {
	case <-ctx.Done():
		return true
	case <-time.After(soon):
		return false
	}
}

// keepPlugin has what follows use the plug-in again, whatever happens to it until then.
func (c *compilation) keepPlugin() func() {
	plugin := c.plugin
	return func() { c.plugin = plugin }
}

// compilesCode runs the wrapper with the user's arguments and those of instrumentation.
func (c *compilation) compilesCode(ctx context.Context) (int, error) {
	defer c.keepPlugin()()
	source := "-"
	if inputs := c.line.inputs(); len(inputs) > 0 {
		source = c.line.tokens[inputs[0]].value
	}
	return c.runCompiler(ctx, source, func() []string { return append(slices.Clone(c.args), c.instrumentFlags()...) })
}
