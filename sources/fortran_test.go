package sources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBegins(t *testing.T) {
	free := strings.Split(`call init(x)
call MPI_Put(a, & ! the values
     n,         &
     ! a comment

     1 - me,    &
     win)
x = 1
! call MPI_Put(a, &
y = 2`, "\n")
	fixed := strings.Split(`      CALL INIT(X)
      CALL MPI_PUT(A, N,
     &     MPI_INTEGER,
     1     WIN, IERR)
      X = 1`, "\n")
	for file, want := range map[string][]int{
		"a.f90": {1, 2, 2, 2, 2, 2, 2, 8, 8, 10},
		"a.f":   {1, 2, 2, 2, 5},
		"a.c":   {1, 2, 3},
	} {
		lines := free
		if file == "a.f" {
			lines = fixed
		}
		for i, first := range want {
			if strings.TrimSpace(lines[i]) == "" || strings.HasPrefix(strings.TrimSpace(lines[i]), "!") {
				continue // no statement ends here
			}
			require.Equal(t, first, Begins(file, i+1, func(n int) string { return lines[n-1] }), "%s:%d", file, i+1)
		}
	}
}
