package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/sources"
)

func TestLineOfAStatementOfFortran(t *testing.T) {
	free := `call init(x)
call MPI_Put(a, & ! the values
     n, MPI_INTEGER, &

     win, ierr)
text = '! no comment &'
x = 1
if (x > 1) &
  call mpi_barrier(comm, ierr)
total = total + &
        halo(1)
`
	fixed := `      CALL INIT(X)
      CALL MPI_PUT(A, N,
     &     MPI_INTEGER,
     1     WIN, IERR)
      X = 1
`
	files := fileFunc(func(path string) ([]byte, error) {
		if path == "a.F" {
			return []byte(fixed), nil
		}
		return []byte(free), nil
	})
	lines := sources.NewReader(nil, files)
	tests := []struct {
		file, call string
		line       int
		shown, at  int
	}{
		{"a.f90", "MPI_Put", 3, 2, 5},
		{"a.f90", "", 1, 1, -1},
		{"a.f90", "", 7, 7, -1},
		{"a.f90", "MPI_Barrier", 9, 9, 7},
		{"a.F90", "", 11, 10, -1},
		{"a.F", "MPI_Put", 4, 2, 11},
		{"a.F", "", 5, 5, -1},
		{"a.c", "MPI_Put", 3, 3, -1},
	}
	for _, test := range tests {
		shown, at := shownLine(lines, test.file, test.line, test.call)
		require.Equal(t, test.shown, shown, "%s:%d", test.file, test.line)
		require.Equal(t, test.at, at, "%s:%d", test.file, test.line)
	}
}
