extern "C" void where(void);
extern "C" void lib_call(void) {}

static inline __attribute__((always_inline)) void put()
{
    where(); // line 6
    asm volatile("");
}

static void (*volatile call)(void *, void (*)(void *)) = [](void *of, void (*f)(void *)) { f(of); };

template <typename F> static void through(F f)
{
    call(&f, [](void *p) { (*static_cast<F *>(p))(); });
}

static int phase(int n)
{
    struct Local {
        int n;
        __attribute__((noinline)) void send()
        {
            put(); // line 23
            n++;
        }
    } local = {n};
    local.send();
    through([&]() __attribute__((noinline)) {
        put(); // line 29
        n++;
    });
    through([&] {
        put(); // line 33
        n++;
    });
    return n + local.n;
}

int main() { return phase(1) == 0; }
