void where(void);
void lib_call(void);

static inline __attribute__((always_inline)) void inner(void)
{
    where(); /* line 6 */
    __asm__ volatile("");
}

static inline __attribute__((always_inline)) void middle(void)
{
    inner(); /* line 12 */
    __asm__ volatile("");
}

__attribute__((noinline)) void outer(void)
{
    middle(); /* line 18 */
    where();  /* line 19 */
    __asm__ volatile("");
}

int main(void)
{
    outer();
    lib_call();
    return 0;
}
