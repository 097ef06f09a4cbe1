package conflicts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocksThatMatter(t *testing.T) {
	own, all := Lock{Target: 1, Window: 3}, Lock{Target: -1, Window: 3}
	shared, exclusive := Lock{Target: -1, Window: 4}, Lock{Exclusive: true, Target: 1, Window: 4}
	other := Lock{Target: 1, Window: 4}
	f := Finding{Window: 3}
	require.Equal(t, []Lock{own, exclusive, other, all}, f.LocksThatMatter(&Side{Locks: []Lock{own, shared, exclusive, other, all}}))
	require.Empty(t, f.LocksThatMatter(&Side{Locks: []Lock{shared}}))
	require.Empty(t, f.LocksThatMatter(&Side{}))
}
