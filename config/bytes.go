package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units of sizes, by powers of 1024.
var units = [...]string{"KiB", "MiB", "GiB", "TiB"}

// ParseBytes returns the number of bytes of a size such as 512MiB or 1.5GiB, or
// 0. Units are KiB, MiB, GiB and TiB.
func ParseBytes(size string) (int64, error) {
	if size == "0" {
		return 0, nil
	}
	for i, unit := range units {
		number, ok := strings.CutSuffix(size, unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		n = math.Ldexp(n, 10*(i+1))
		if err != nil || !(n >= 1 && n < math.MaxInt64) || strings.Trim(number, "0123456789.") != "" {
			break
		}
		return int64(n), nil
	}
	if size != "" && strings.Trim(size, "0123456789.") == "" {
		return 0, fmt.Errorf("%q has no unit (KiB, MiB, GiB or TiB), such as 512MiB or 2GiB", size)
	}
	return 0, fmt.Errorf("%q is no size, such as 512MiB or 2GiB", size)
}
