extern "C" void where(void);
extern "C" void lib_call(void) {}

namespace halo {
template <typename T> struct Grid {
    __attribute__((noinline)) void exchange(T *, int)
    {
        where(); // line 8
        asm volatile("");
    }
};
} // namespace halo

namespace {
__attribute__((noinline)) void hidden()
{
    where(); // line 17
    asm volatile("");
}
} // namespace

int main()
{
    halo::Grid<double> g;
    g.exchange(nullptr, 1);
    hidden();
    return 0;
}
