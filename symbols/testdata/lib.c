void where(void);

void lib_call(void)
{
    where(); /* line 5 */
    __asm__ volatile("");
}
