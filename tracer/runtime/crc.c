/* Checksums: CRC-32C, by the processor where it can. */
#include "mcchk.h"

#include <string.h>

static uint32_t crc_table[256];

void mcchk_crc_start(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int k = 0; k < 8; k++)
			c = (c >> 1) ^ (c & 1 ? 0x82F63B78u : 0);
		crc_table[i] = c;
	}
}

static uint32_t crc_bytes(uint32_t c, const uint8_t *p, size_t n)
{
	while (n--)
		c = crc_table[(c ^ *p++) & 0xff] ^ (c >> 8);
	return c;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_words(uint32_t c, const uint8_t *p, size_t n)
{
	uint64_t c64 = c;
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		c64 = __builtin_ia32_crc32di(c64, w);
	}
	return crc_bytes((uint32_t)c64, p, n);
}
#endif

uint32_t mcchk_crc32c(const void *data, size_t size)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_words(~0u, data, size);
#endif
	return ~crc_bytes(~0u, data, size);
}
