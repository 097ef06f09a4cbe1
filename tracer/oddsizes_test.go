package tracer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOddAccess(t *testing.T) {
	tests := []struct {
		name, line    string
		size          int
		pointer, kind string
	}{
		{"long double", "  %8 = load x86_fp80, x86_fp80* %7, align 16, !dbg !20\n", 10, "x86_fp80* %7", "read"},
		{"long double, opaque pointer", "  store x86_fp80 %5, ptr %6, align 16\n", 10, "ptr %6", "write"},
		{"a constant", "  store volatile x86_fp80 0xK40008000000000000000, x86_fp80* getelementptr inbounds ([4 x x86_fp80], [4 x x86_fp80]* @m, i64 0, i64 2), align 16\n",
			10, "x86_fp80* getelementptr inbounds ([4 x x86_fp80], [4 x x86_fp80]* @m, i64 0, i64 2)", "write"},
		{"a wide vector", "  %46 = load <16 x i32>, <16 x i32>* %45, align 4, !tbaa !5\n", 64, "<16 x i32>* %45", "read"},
		{"a constant vector", "  store <4 x double> <double 1.0, double 2.0, double 3.0, double 4.0>, <4 x double>* %1, align 32\n", 32, "<4 x double>* %1", "write"},
		{"three bytes", "  %3 = load i24, i24* %2, align 4\n", 3, "i24* %2", "read"},
		{"a vector that has its call-back", "  %3 = load <4 x float>, <4 x float>* %2, align 4\n", 0, "", ""},
		{"a word", "  %3 = load i64, i64* %2, align 8\n", 0, "", ""},
		{"a bool", "  store i1 true, i1* %2, align 1\n", 0, "", ""},
		{"a pointer", "  %3 = load i8**, i8*** %2, align 8\n", 0, "", ""},
		{"an atomic load", "  %3 = load atomic i64, i64* %2 seq_cst, align 8\n", 0, "", ""},
		{"a structure", "  %3 = load { i64, i64 }, { i64, i64 }* %2, align 8\n", 0, "", ""},
		{"something else", "  %3 = add i64 %1, %2\n", 0, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			size, pointer, kind := oddAccess(tt.line)
			require.Equal(t, tt.size, size)
			if tt.size > 0 {
				require.Equal(t, tt.pointer, pointer)
				require.Equal(t, tt.kind, kind)
			}
		})
	}
}
