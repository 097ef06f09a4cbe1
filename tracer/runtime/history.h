/* What other strands did before: history.c, and what shadow.c does for it. */
#ifndef MCCHK_HISTORY_H
#define MCCHK_HISTORY_H

#include "calls.h"

#pragma GCC visibility push(hidden)

/* ---- shadow.c ---- */

struct mcchk_pages {
	uint64_t first, end;
};
#define MCCHK_MAX_PAGES 256

int mcchk_use(const struct mcchk_range *r);
void mcchk_watch_pages(const struct mcchk_pages *list, uint32_t n);
void mcchk_watch_ends(void);

#pragma GCC visibility pop
#endif
