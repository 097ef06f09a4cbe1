/* What a process tells those who read its trace while it is written, in the first
 * page of the file (docs/trace-format.md, "A file that is read while it is written").
 */
#include "mcchk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mcchk_live *mcchk_live;

/* The first chunk of the file is mapped. As long as the process lives it holds a lock
 * on the file; so a reader on any node knows when it has died. */
void mcchk_live_begin(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return; /* then it is read when it is finished */
	if (fcntl(fd, F_SETLK, &lock) != 0) { /* the process is looked for by its number */ }
	struct mcchk_live *l = (void *)(page + MCCHK_LIVE_AT);
	mcchk_live = l;
	if (mcchk_several)
		mcchk_live_several();
	uint64_t magic;
	memcpy(&magic, "MCCHKLV1", sizeof magic);
	__atomic_store_n((uint64_t *)(void *)l->magic, magic, __ATOMIC_RELEASE);
}

/* Another thread begins to record. */
void mcchk_live_several(void)
{
	if (mcchk_live)
		__atomic_store_n(&mcchk_live->several, 1, __ATOMIC_SEQ_CST);
}

/* Nothing in the file changes from now on. */
void mcchk_live_end(void)
{
	if (mcchk_live)
		__atomic_store_n(&mcchk_live->ended, 1, __ATOMIC_RELEASE);
}
