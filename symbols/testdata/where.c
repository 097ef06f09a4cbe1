/* Prints where it was called from: the module and the address in its file. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>

struct query {
    uintptr_t pc;
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct query *q = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && q->pc >= lo && q->pc < lo + info->dlpi_phdr[i].p_memsz) {
            printf("%lx %s\n", (unsigned long)(q->pc - info->dlpi_addr), info->dlpi_name);
            return 1;
        }
    }
    return 0;
}

void where(void)
{
    struct query q = {(uintptr_t)__builtin_return_address(0) - 1};
    dl_iterate_phdr(look, &q);
}

void where_(void) __attribute__((alias("where")));
