/* The C library's copies as accesses of the program.
 *
 * The program is linked with -Wl,--wrap=NAME for the names below, which turns
 * its own calls into calls of __wrap_NAME; copies inside shared libraries are
 * not the program's. clang 16 and later call __tsan_memcpy and the like
 * instead. The accesses are recorded before the copy is made, with the place of
 * the call. __real_NAME is weak: it exists only for the names that are wrapped.
 */
#include "memops.h"

#include <string.h>
#include <wchar.h>

/* memcpy, memmove, mempcpy and their checked (_FORTIFY_SOURCE) forms */
#define COPY(name)                                                                                 \
	REAL(void *, name, void *, const void *, size_t);                                          \
	void *__wrap_##name(void *to, const void *from, size_t n)                                  \
	{                                                                                          \
		READS(from, n);                                                                    \
		WRITES(to, n);                                                                     \
		return __real_##name(to, from, n);                                                 \
	}
#define CHECKED_COPY(name)                                                                         \
	REAL(void *, name, void *, const void *, size_t, size_t);                                  \
	void *__wrap_##name(void *to, const void *from, size_t n, size_t room)                     \
	{                                                                                          \
		READS(from, n);                                                                    \
		WRITES(to, n);                                                                     \
		return __real_##name(to, from, n, room);                                           \
	}
COPY(memcpy)
COPY(memmove)
COPY(mempcpy)
CHECKED_COPY(__memcpy_chk)
CHECKED_COPY(__memmove_chk)
CHECKED_COPY(__mempcpy_chk)

REAL(void *, memset, void *, int, size_t);
void *__wrap_memset(void *to, int value, size_t n)
{
	WRITES(to, n);
	return __real_memset(to, value, n);
}

REAL(void *, __memset_chk, void *, int, size_t, size_t);
void *__wrap___memset_chk(void *to, int value, size_t n, size_t room)
{
	WRITES(to, n);
	return __real___memset_chk(to, value, n, room);
}

REAL(void, bcopy, const void *, void *, size_t);
void __wrap_bcopy(const void *from, void *to, size_t n)
{
	READS(from, n);
	WRITES(to, n);
	__real_bcopy(from, to, n);
}

REAL(void, bzero, void *, size_t);
void __wrap_bzero(void *to, size_t n)
{
	WRITES(to, n);
	__real_bzero(to, n);
}

/* wide characters */
#define WIDE_COPY(name)                                                                            \
	REAL(wchar_t *, name, wchar_t *, const wchar_t *, size_t);                                 \
	wchar_t *__wrap_##name(wchar_t *to, const wchar_t *from, size_t n)                         \
	{                                                                                          \
		READS(from, n * sizeof *to);                                                       \
		WRITES(to, n * sizeof *to);                                                        \
		return __real_##name(to, from, n);                                                 \
	}
WIDE_COPY(wmemcpy)
WIDE_COPY(wmemmove)
WIDE_COPY(wmempcpy)

REAL(wchar_t *, wmemset, wchar_t *, wchar_t, size_t);
wchar_t *__wrap_wmemset(wchar_t *to, wchar_t value, size_t n)
{
	WRITES(to, n * sizeof *to);
	return __real_wmemset(to, value, n);
}

/* Copies up to the first such byte. */
REAL(void *, memccpy, void *, const void *, int, size_t);
void *__wrap_memccpy(void *to, const void *from, int last, size_t n)
{
	const char *found = memchr(from, last, n);
	size_t copied = found ? (size_t)(found - (const char *)from) + 1 : n;
	READS(from, copied);
	WRITES(to, copied);
	return __real_memccpy(to, from, last, n);
}

/* strcpy, stpcpy */
#define STRING_COPY(name)                                                                          \
	REAL(char *, name, char *, const char *);                                                  \
	char *__wrap_##name(char *to, const char *from)                                            \
	{                                                                                          \
		size_t n = __real_strlen(from) + 1;                                                       \
		READS(from, n);                                                                    \
		WRITES(to, n);                                                                     \
		return __real_##name(to, from);                                                    \
	}
STRING_COPY(strcpy)
STRING_COPY(stpcpy)

/* strncpy, stpncpy: write all n bytes */
#define STRING_COPY_N(name)                                                                        \
	REAL(char *, name, char *, const char *, size_t);                                          \
	char *__wrap_##name(char *to, const char *from, size_t n)                                  \
	{                                                                                          \
		size_t k = __real_strnlen(from, n);                                                       \
		READS(from, k < n ? k + 1 : n);                                                    \
		WRITES(to, n);                                                                     \
		return __real_##name(to, from, n);                                                 \
	}
STRING_COPY_N(strncpy)
STRING_COPY_N(stpncpy)

REAL(char *, strcat, char *, const char *);
char *__wrap_strcat(char *to, const char *from)
{
	size_t had = __real_strlen(to), n = __real_strlen(from) + 1;
	READS(to, had + 1);
	READS(from, n);
	WRITES(to + had, n);
	return __real_strcat(to, from);
}

REAL(char *, strncat, char *, const char *, size_t);
char *__wrap_strncat(char *to, const char *from, size_t n)
{
	size_t had = __real_strlen(to), k = __real_strnlen(from, n);
	READS(to, had + 1);
	READS(from, k < n ? k + 1 : n);
	WRITES(to + had, k + 1);
	return __real_strncat(to, from, n);
}

/* The sanitizer's own names (clang 16 and later). What is called here must not
 * be recorded again by the wrappers above. */
#define UNSEEN(call)                                                                               \
	do {                                                                                       \
		mcchk_self.depth++;                                                                \
		call;                                                                              \
		mcchk_self.depth--;                                                                \
	} while (0)

void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	READS(from, n);
	WRITES(to, n);
	UNSEEN(memcpy(to, from, n));
	return to;
}

void *__tsan_memmove(void *to, const void *from, size_t n)
{
	READS(from, n);
	WRITES(to, n);
	UNSEEN(memmove(to, from, n));
	return to;
}

void *__tsan_memset(void *to, int value, size_t n)
{
	WRITES(to, n);
	UNSEEN(memset(to, value, n));
	return to;
}
