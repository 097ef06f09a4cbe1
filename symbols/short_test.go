package symbols_test

import (
	"slices"
	"testing"

	"github.com/mcchk/mcchk/symbols"
)

func TestShort(t *testing.T) {
	for _, c := range []struct {
		file   string
		others []string
		want   string
	}{
		{"/home/me/app/src/halo.cpp", nil, "halo.cpp"},
		{"/home/me/app/src/halo.cpp", []string{"/home/me/app/src/halo.cpp", "/home/me/app/main.cpp"}, "halo.cpp"},
		{"/home/me/app/src/halo.cpp", []string{"/home/me/app/old-halo.cpp"}, "halo.cpp"},
		{"/home/me/app/src/util.c", []string{"/home/me/app/lib/util.c"}, "src/util.c"},
		{"/home/me/app/a/x/util.c", []string{"/home/me/app/b/x/util.c", "/home/me/app/c/util.c"}, "a/x/util.c"},
		{"/home/me/app/a/x/util.c", []string{"/home/me/app/c/util.c", "/home/me/app/b/x/util.c"}, "a/x/util.c"},
		{"util.c", []string{"lib/util.c"}, "util.c"},
		{"lib/util.c", []string{"util.c"}, "lib/util.c"},
		{"/util.c", []string{"/lib/util.c"}, "/util.c"},
	} {
		if got := symbols.Short(c.file, slices.Values(c.others)); got != c.want {
			t.Errorf("Short(%q) beside %q is %q, want %q", c.file, c.others, got, c.want)
		}
	}
}

func TestBrief(t *testing.T) {
	for name, want := range map[string]string{
		"main":                      "main",
		"std::max_element<double*>": "std::max_element<…>",
		"std::vector<double, std::allocator<double> >::operator[]": "std::vector<…>::operator[]",
		"ops::less::operator()<a<b>, c<d> >":                       "ops::less::operator()<…>",
		"operator<< <char>":                                        "operator<< <…>",
		"f<&A::operator->>::g":                                     "f<…>",
		"a::operator->":                                            "a::operator->",
		"f<":                                                       "f<…>",
		">":                                                        "",
	} {
		if got := symbols.Brief(name); got != want {
			t.Errorf("Brief(%q) is %q, want %q", name, got, want)
		}
	}
}
