package report

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHTMLOpens(t *testing.T) {
	for _, name := range []string{"lock_barrier_wrong", "jacobi_halo_wrong"} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(name+"/"+scheme, func(t *testing.T) {
				res, opts := fixture(t, name)
				x := open(t, htmlOf(t, res, opts), "", prefers(scheme))
				require.Equal(t, "false", x.eval(`document.getElementById('overview').hidden`))
				x.screenshot(name + "-overview-" + scheme)
				x.do()
				x.eval(`location.hash = 'finding-1'`)
				x.until(`document.getElementById('finding-title') !== null`)
				x.screenshot(name + "-finding-" + scheme)
				x.eval(`document.querySelector('.lattice').focus()`)
				x.eval(`document.querySelector('.lattice').closest('section').scrollIntoView()`)
				x.screenshot(name + "-lattice-" + scheme)
				x.eval(`location.hash = 'windows'`)
				x.until(`document.querySelector('.map') !== null`)
				x.screenshot(name + "-windows-" + scheme)
				x.quiet()
			})
		}
	}
}
