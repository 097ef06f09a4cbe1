package analysis

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcchk/mcchk/evc"
)

// A process sends one integer of an array away while it receives others into the
// array, by a datatype that names their places in an order of its own, as a list
// of mesh points does. The message is shorter than the datatype: data fill it in
// the order of the datatype, not of the addresses, and the integer that is being
// sent may be touched or not.
func TestShortMessagesFillDatatypesInTheirOrder(t *testing.T) {
	const typeLine = `{"type":2,"combiner":"%s","size":%d,"lb":%d,"extent":%d,"ints":[%s],"addrs":[%s],"types":[1]}` + "\n"
	indexed := fmt.Sprintf(typeLine, "indexed", 16, 0, 24, "3,1,2,1,5,0,3", "")    // integers 5, 0, 1, 3
	placed := fmt.Sprintf(typeLine, "hindexed_block", 12, 4, 20, "3,1", "20,4,12") // integers 5, 1, 3
	backward := fmt.Sprintf(typeLine, "vector", 8, -8, 12, "2,1,-2", "")           // integers 0, -2
	forward := fmt.Sprintf(typeLine, "vector", 12, 0, 20, "3,1,2", "")             // integers 0, 2, 4
	woven := fmt.Sprintf(typeLine, "vector", 8, 0, 12, "2,1,2", "") +              // integers 0, 2
		`{"type":3,"combiner":"resized","size":8,"lb":0,"extent":4,"addrs":[0,4],"types":[2]}` + "\n" // two of them: 0, 2, 1, 3
	tests := []struct {
		name             string
		types            string
		count, typ, sent int   // integers sent
		filled, empty    []int // integers of the array
	}{
		{"a list of places", placed, 1, 2, 2, []int{5, 1}, []int{3, 2}},
		{"a list of blocks, a block in part", indexed, 1, 2, 2, []int{5, 0}, []int{1, 3}},
		{"a list of blocks, all of it", indexed, 1, 2, 4, []int{5, 0, 1, 3}, []int{2, 4}},
		{"from the end to the front", backward, 1, 2, 1, []int{0}, []int{-2}},
		{"two elements from the end to the front", backward, 2, 2, 3, []int{0, -2, 3}, []int{1}},
		{"from the front to the end", forward, 1, 2, 2, []int{0, 2}, []int{4}},
		{"elements woven into one another", woven, 2, 3, 2, []int{0, 2}, []int{1, 3}},
	}
	const array = 0x1040 // its integer 0
	races := func(t *testing.T, types string, count, typ, sent, busy int) []string {
		zero := callAt(3, "MPI_Send", fmt.Sprintf(`"buf":"0x5000","count":%d,"datatype":1,"dest":1,"tag":3,"comm":1`, sent)) +
			callAt(4, "MPI_Recv", `"buf":"0x5000","count":1,"datatype":1,"source":1,"tag":4,"comm":1,"status":[1,4,4,0]`)
		one := callAt(5, "MPI_Isend", fmt.Sprintf(`"buf":"%#x","count":1,"datatype":1,"dest":0,"tag":4,"comm":1,"request":7`, array+4*busy)) +
			callAt(6, "MPI_Recv", fmt.Sprintf(`"buf":"%#x","count":%d,"datatype":%d,"source":0,"tag":3,"comm":1,"status":[0,3,%d,0]`, array, count, typ, 4*sent)) +
			callAt(7, "MPI_Wait", `"request":7,"done":1`)
		files := packed(t, 2, types+create+"rank 0\n"+zero+finish+"rank 1\n"+one+finish)
		res := inMemory(t, files, evc.Encoded, 1)
		require.Empty(t, res.Doubts)
		return usageOf(res)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, k := range tt.filled {
				require.Len(t, races(t, tt.types, tt.count, tt.typ, tt.sent, k), 1, "integer %d is sent while the message fills it", k)
			}
			for _, k := range tt.empty {
				require.Empty(t, races(t, tt.types, tt.count, tt.typ, tt.sent, k), "integer %d is not touched", k)
			}
		})
	}
}
