//go:build !quick

package tracer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// loopWriter draws functions with nests of loops, one access a line.
type loopWriter struct {
	rnd     *rand.Rand
	out     strings.Builder
	depth   int
	loops   []string // the variables of the loops around, integers
	natural []bool   // whether these are never less than 0
}

// kernelsSource returns a C source, that C++ compilers take too, with n kernels, and a
// function that runs them all.
func kernelsSource(seed uint64, n int) string {
	w := &loopWriter{rnd: rand.New(rand.NewPCG(seed, 1))}
	w.out.WriteString("#include \"kernels.h\"\n\nstatic __attribute__((noinline, const)) int known(int x) { return x * x - 3; }\n" +
		"static __attribute__((noinline, pure)) int look(const int *p) { return (int)((unsigned)*p + 1u); }\n\n" + halves + chase)
	for i := range n {
		w.kernel(i)
	}
	w.out.WriteString("#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid kernels(void)\n{\n")
	for i := range n {
		for range 2 {
			// All bases lie in the middle, near enough for accesses to meet.
			at := func(align int) int { return arenaMiddle + w.rnd.IntN(3000)/align*align }
			fmt.Fprintf(&w.out, "\tATTEMPT(kernel%d((void *)(ARENA + %d), (void *)(ARENA + %d), (void *)(ARENA + %d), (int *)(ARENA + 64), %d, %d));\n",
				i, at(16), at(16), at(16), w.rnd.IntN(13), w.rnd.IntN(9))
		}
		if i%3 == 0 {
			w.sweep(i)
		}
	}
	w.out.WriteString("\tATTEMPT(halves((double *)(ARENA + 29008), (double *)(ARENA + 31504), 128));\n" +
		"\tATTEMPT({ halves((double *)(ARENA + 31008), (double *)(ARENA + 32528), 64); halves_again((double *)(ARENA + 31008), 64); });\n")
	w.out.WriteString("\tATTEMPT(for (int i = 0; i < 3000; i++) { chase((int *)(ARENA + 30000), i * 7 % 500); chase((int *)(ARENA + 30000), i * 13 % 500); });\n")
	w.out.WriteString("}\n")
	return w.out.String()
}

// chase follows numbers, in calls from two places in turns, and shortens the way.
const chase = `static __attribute__((noinline)) int chase(int *next, int i)
{
	for (int n = 0; n < 20 && next[i] != i; n++) {
		int on = (int)((unsigned)next[i] % 500u);
		next[i] = (int)((unsigned)next[on] % 500u);
		i = on;
	}
	return i;
}

`

// halves is a function that calls itself for each half of what it is given, from two others.
const halves = `static __attribute__((noinline)) void halves(double *a, double *b, int n)
{
	if (n == 1)
		return;
	for (int i = 0; i < n / 2; i++) {
		double even = a[2 * i],
			odd = a[2 * i + 1];
		b[i] = even;
		b[i + n / 2] = odd;
	}
	halves(b, a, n / 2);
	halves(b + n / 2, a + n / 2, n / 2);
	int step = n < 64 ? 1 : known(2);
	for (int i = 0; i < n / 2; i++) {
		double even = b[i],
			odd = b[(n / 2 + i) * step];
		a[i] = even + odd;
		a[i + n / 2] = even - odd;
	}
}

static __attribute__((noinline)) void halves_again(double *a, int n)
{
	for (int k = 0; k < 3; k++)
		halves(a + k * n, a + 3 * n, n);
	halves(a, a + 3 * n, n);
}

`

// sweep runs a kernel many times in a span, mostly each time at the same distances from the
// last, as a loop around a call does.
func (w *loopWriter) sweep(i int) {
	var bases []string
	for range 3 {
		base, step := arenaMiddle+w.rnd.IntN(2000)/16*16, w.rnd.IntN(6)*16-32
		bases = append(bases, fmt.Sprintf("(void *)(ARENA + %d + s * %d)", base, step))
	}
	n := fmt.Sprint(w.rnd.IntN(13))
	if w.rnd.IntN(3) == 0 {
		n = fmt.Sprintf("%d + s %% 2 * 3", w.rnd.IntN(10)) // two lengths take turns
	}
	m := w.pick("0", "3", "4", "5 + s / 12", "7")
	fmt.Fprintf(&w.out, "\tATTEMPT(for (int s = 0; s < %d; s++) kernel%d(%s, (int *)(ARENA + 64), %s, %s));\n",
		8+w.rnd.IntN(40), i, strings.Join(bases, ", "), n, m)
}

// arenaMiddle is where the kernels' memory begins, as an offset in the arena.
const arenaMiddle = 30000

var elementTypes = []string{
	"char", "unsigned char", "short", "int", "unsigned", "long", "float", "double", "wide", "int", "double", "long",
	"twelve", "twenty_four", "packed", "sixteen",
}

func (w *loopWriter) pick(list ...string) string { return list[w.rnd.IntN(len(list))] }

func (w *loopWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.out, strings.Repeat("\t", w.depth)+format+"\n", args...)
}

func (w *loopWriter) kernel(i int) {
	types := []string{w.pick(elementTypes...), w.pick(elementTypes...), w.pick(elementTypes[:12]...)}
	w.line("static __attribute__((noinline)) void kernel%d(void *va, void *vb, void *vc, const int *idx, int n, int m)\n{", i)
	w.depth++
	for k, t := range types {
		name := string(rune('a' + k))
		w.line("%s *%s = (%s *)v%s;", t, name, t, name)
	}
	w.line("unsigned x = (unsigned)(n * 3 + m);")
	if w.rnd.IntN(6) == 0 {
		w.wide(types)
	}
	w.loop(types)
	if w.rnd.IntN(3) == 0 {
		w.loop(types)
	}
	w.line("out:")
	w.line("*(volatile unsigned *)(ARENA + 8) = x;")
	w.depth--
	w.line("}\n")
}

// loop writes a loop and what is in it.
func (w *loopWriter) loop(types []string) {
	v := fmt.Sprintf("i%d", len(w.loops))
	from := w.pick("0", "0", "0", "1", "2", "n - m")
	end := w.pick("n", "n", "m", "n + m", "11", "16")
	t := w.pick("int", "int", "long", "unsigned", "size_t", "short", "unsigned char")
	signed := t == "int" || t == "long" || t == "short"
	if !signed && from == "n - m" {
		from = "0"
	}
	upTo := false                                                                // an end that depends on the loop around
	if n := len(w.loops); n > 0 && (signed || t == "size_t" && w.natural[n-1]) { // a triangle
		around := "(long)" + w.loops[len(w.loops)-1]
		switch w.rnd.IntN(8) {
		case 0, 1:
			from = around + w.pick("", "", " + 1")
		case 2, 3:
			end, upTo = around+w.pick("", "", " + 2"), true
		case 4:
			if signed {
				end, upTo = "n - "+around, true
			}
		}
	}
	step := w.pick("1", "1", "1", "1", "2", "3")
	var tail string
	how := w.rnd.IntN(7)
	if upTo && how == 1 { // the end may be less than 0
		how = 6
	}
	switch how {
	case 0:
		if !signed {
			t = "long"
		}
		w.line("for (%s %s = (%s)(%s) - 1; %s >= %s; %s -= %s) {", t, v, t, end, v, from, v, step)
	case 1:
		w.line("for (%s %s = 0; %s != (%s)(%s); %s++) {", t, v, v, t, end, v)
	case 2:
		w.line("for (%s %s = (%s)(%s); %s < (%s)(%s);) {", t, v, t, from, v, t, end)
		w.line("\t%s += %s;", v, step)
	case 3:
		w.line("{ %s %s = (%s)(%s); do {", t, v, t, from)
		tail = fmt.Sprintf("} while (++%s < (%s)(%s)); }", v, t, end)
	case 4:
		w.line("for (%s %s = (%s)(%s); %s <= (%s)(%s); %s += %s) {", t, v, t, from, v, t, end, v, step)
	default:
		w.line("for (%s %s = (%s)(%s); %s < (%s)(%s); %s += %s) {", t, v, t, from, v, t, end, v, step)
	}
	w.loops, w.natural = append(w.loops, v), append(w.natural, len(from) == 1)
	w.depth++
	for range 1 + w.rnd.IntN(4) {
		w.statement(types)
	}
	w.depth--
	w.loops, w.natural = w.loops[:len(w.loops)-1], w.natural[:len(w.natural)-1]
	if tail == "" {
		tail = "}"
	}
	w.line("%s", tail)
}

// wide writes more accesses than get a whole test each, outside of loops or in one that calls
// a function.
func (w *loopWriter) wide(types []string) {
	if w.rnd.IntN(2) == 0 {
		w.line("{ long j = n & 7;")
	} else {
		w.line("for (int j = 0; j < n; j++) {\n\t\tx += opaque(x);")
	}
	w.loops, w.natural = append(w.loops, "j"), append(w.natural, true)
	w.depth++
	for range 26 + w.rnd.IntN(12) {
		k := w.rnd.IntN(len(types))
		a, t := string(rune('a'+k)), types[k]
		switch w.rnd.IntN(5) {
		case 0:
			w.store(a, t)
		case 1:
			if !isStruct(t) {
				w.update(a, t)
			}
		default:
			w.load(a, t)
		}
	}
	w.depth--
	w.loops, w.natural = w.loops[:len(w.loops)-1], w.natural[:len(w.natural)-1]
	w.line("}")
}

// index is an expression of the loops' variables.
func (w *loopWriter) index() string {
	v := "(long)" + w.loops[w.rnd.IntN(len(w.loops))]
	last := "(long)" + w.loops[len(w.loops)-1]
	switch w.rnd.IntN(12) {
	case 0:
		return v
	case 1:
		return v + " * 17 + " + last
	case 2:
		return fmt.Sprintf("%d", w.rnd.IntN(9))
	case 3:
		return "40 - 2 * " + last
	case 4:
		return last + " * m"
	case 5:
		return last + " * " + last
	case 6:
		return v + " * (n + 3) + " + last
	case 7:
		return "(unsigned char)(x + " + w.loops[0] + ") % 32"
	default:
		return last + w.pick("", " + 1", " - 1", " * 2", " * 3 + 1", " + n")
	}
}

func isStruct(t string) bool {
	return slices.Contains([]string{"twelve", "twenty_four", "packed", "sixteen"}, t)
}

func (w *loopWriter) statement(types []string) {
	k := w.rnd.IntN(len(types))
	a, t := string(rune('a'+k)), types[k]
	switch w.rnd.IntN(20) {
	case 0, 1, 2:
		if len(w.loops) < 3 {
			w.loop(types)
			return
		}
		w.load(a, t)
	case 3:
		w.guarded(types)
	case 4:
		w.line("if ((x & 15) == %d)", w.rnd.IntN(16))
		w.line("\t%s;", w.pick("break", "continue", "goto out", "return"))
	case 5:
		w.line("%s;", w.pick("x += opaque(x)", "x += (unsigned)known((int)(x & 7))", "x += (unsigned)look(idx + (x & 7))",
			"x += (unsigned)sqrt((double)(x & 1023))", "x ^= *(const volatile unsigned *)(ARENA + 32)"))
	case 6:
		w.line("x ^= (unsigned)idx[%s & 15];", w.loops[len(w.loops)-1])
	case 7, 8, 9, 10, 11, 12:
		w.load(a, t)
	case 13, 14:
		switch {
		case isStruct(t):
			w.line("%s[%s] = %s[%s];", a, w.index(), a, w.index())
		case t == "int" || t == "unsigned" || t == "long":
			w.lesser(a, t)
		default:
			w.update(a, t)
		}
	default:
		w.store(a, t)
	}
}

// guarded is a statement under a condition: of the loop's values, or the same in all of
// its iterations.
func (w *loopWriter) guarded(types []string) {
	w.line("if (%s) {", w.pick("x & 1", "n > 5", "m & 1", w.loops[len(w.loops)-1]+" > 3"))
	w.depth++
	w.statement(types)
	w.depth--
	w.line("}")
}

func (w *loopWriter) load(a, t string) {
	switch t {
	case "float", "double":
		w.line("x = x * 3 + (%s[%s] < (%s)1);", a, w.index(), t)
	case "twelve":
		w.line("x += (unsigned)%s[%s].%s;", a, w.index(), w.pick("a", "c", "f"))
	case "twenty_four":
		w.line("x += (unsigned)%s[%s].%s;", a, w.index(), w.pick("a", "c"))
	case "packed":
		w.line("x += (unsigned)%s[%s].%s;", a, w.index(), w.pick("tag", "value"))
	case "sixteen":
		w.line("x += (unsigned)%s[%s].%s;", a, w.index(), w.pick("a", "c"))
	default:
		w.line("x ^= (unsigned)%s[%s];", a, w.index())
	}
}

// lesser takes the lesser of an element and a variable that ends with the block, through their addresses.
func (w *loopWriter) lesser(a, t string) {
	w.line("{ %s low = (%s)(x & 7); const %s *at = &%s[%s];", t, t, t, a, w.index())
	w.line("\tx ^= (unsigned)*(*at < low ? at : &low); }")
}

// update loads and stores one element.
func (w *loopWriter) update(a, t string) {
	at := w.index()
	if t == "float" || t == "double" {
		w.line("%s[%s] = -%s[%s];", a, at, a, at)
		return
	}
	w.line("%s[%s] ^= 3;", a, at)
}

func (w *loopWriter) store(a, t string) {
	switch t {
	case "twelve":
		w.line("%s[%s].%s = (short)x;", a, w.index(), w.pick("a", "c", "f"))
	case "twenty_four":
		w.line("%s[%s].%s = (long)x;", a, w.index(), w.pick("a", "c"))
	case "packed":
		w.line("%s[%s].%s = (char)x;", a, w.index(), w.pick("tag", "value"))
	case "sixteen":
		w.line("%s[%s].%s = (int)x;", a, w.index(), w.pick("a", "c"))
	default:
		w.line("%s[%s] = (%s)(x & 255);", a, w.index(), t)
	}
}
