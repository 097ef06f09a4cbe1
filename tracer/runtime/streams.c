/* What functions of the C++ library (GNU's) read and write that are compiled into it, and not with the
 * program: those of streams, and the hash of strings. A string is its address and its length, in this order.
 */
#include "memops.h"

struct string {
	const char *p;
	size_t n;
};

/* std::ostream::write */
REAL(void *, _ZNSo5writeEPKcl, void *, const char *, long);
void *__wrap__ZNSo5writeEPKcl(void *stream, const char *s, long n)
{
	if (n > 0)
		READS(s, (size_t)n);
	return __real__ZNSo5writeEPKcl(stream, s, n);
}

/* std::__ostream_insert<char>, which operators << call that are compiled with the program */
REAL(void *, _ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l, void *, const char *, long);
void *__wrap__ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l(void *stream, const char *s, long n)
{
	if (n > 0)
		READS(s, (size_t)n);
	return __real__ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l(stream, s, n);
}

/* operator<<(std::ostream &, const char *) */
REAL(void *, _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc, void *, const char *);
void *__wrap__ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc(void *stream, const char *s)
{
	if (s)
		READS(s, __real_strlen(s) + 1);
	return __real__ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc(stream, s);
}

/* operator<<(std::ostream &, const std::string &) */
REAL(void *, _ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE, void *, const struct string *);
void *__wrap__ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE(void *stream,
														const struct string *s)
{
	READS(s->p, s->n);
	return __real__ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE(stream, s);
}

extern long _ZNKSi6gcountEv(const void *) __attribute__((weak)); /* std::istream::gcount */

/* std::istream::read */
REAL(void *, _ZNSi4readEPcl, void *, char *, long);
void *__wrap__ZNSi4readEPcl(void *stream, char *p, long n)
{
	void *same = __real__ZNSi4readEPcl(stream, p, n);
	long got = _ZNKSi6gcountEv ? _ZNKSi6gcountEv(stream) : n;
	if (got > 0)
		WRITES(p, (size_t)got);
	return same;
}

/* std::istream::readsome */
REAL(long, _ZNSi8readsomeEPcl, void *, char *, long);
long __wrap__ZNSi8readsomeEPcl(void *stream, char *p, long n)
{
	long got = __real__ZNSi8readsomeEPcl(stream, p, n);
	if (got > 0)
		WRITES(p, (size_t)got);
	return got;
}

/* std::istream::getline; what it leaves ends with 0. */
REAL(void *, _ZNSi7getlineEPclc, void *, char *, long, char);
void *__wrap__ZNSi7getlineEPclc(void *stream, char *p, long n, char end)
{
	void *same = __real__ZNSi7getlineEPclc(stream, p, n, end);
	if (n > 0)
		WRITES(p, __real_strlen(p) + 1);
	return same;
}

REAL(void *, _ZNSi7getlineEPcl, void *, char *, long);
void *__wrap__ZNSi7getlineEPcl(void *stream, char *p, long n)
{
	void *same = __real__ZNSi7getlineEPcl(stream, p, n);
	if (n > 0)
		WRITES(p, __real_strlen(p) + 1);
	return same;
}

/* std::_Hash_bytes, which std::hash of strings calls */
REAL(size_t, _ZSt11_Hash_bytesPKvmm, const void *, size_t, size_t);
size_t __wrap__ZSt11_Hash_bytesPKvmm(const void *p, size_t n, size_t seed)
{
	READS(p, n);
	return __real__ZSt11_Hash_bytesPKvmm(p, n, seed);
}
