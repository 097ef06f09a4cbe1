/* MPI's constants and small objects, as the trace format has them: the same
 * for every MPI library. */
#include "wrap.h"

enum { ANY_SOURCE = -1, PROC_NULL = -2, ROOT_RANK = -3, UNDEFINED = -4, ANY_TAG = -1 };

int64_t mcchk_address(const void *p)
{
	if (p == MPI_IN_PLACE)
		return -1;
	return p == MPI_BOTTOM ? 0 : (int64_t)(uintptr_t)p;
}

int64_t mcchk_rank(int rank)
{
	if (rank == MPI_ANY_SOURCE)
		return ANY_SOURCE;
	if (rank == MPI_PROC_NULL)
		return PROC_NULL;
	if (rank == MPI_ROOT)
		return ROOT_RANK;
	return rank == MPI_UNDEFINED ? UNDEFINED : rank;
}

int64_t mcchk_tag(int tag) { return tag == MPI_ANY_TAG ? ANY_TAG : tag; }

int64_t mcchk_assertion(int assertion)
{
	if (mcchk_self.coarray)
		assertion &= ~MPI_MODE_NOCHECK; /* the library's to answer for */
	return (assertion & MPI_MODE_NOCHECK ? 1 : 0) | (assertion & MPI_MODE_NOSTORE ? 2 : 0) |
	       (assertion & MPI_MODE_NOPUT ? 4 : 0) | (assertion & MPI_MODE_NOPRECEDE ? 8 : 0) |
	       (assertion & MPI_MODE_NOSUCCEED ? 16 : 0);
}

/* A coarray library locks for each transfer, which the program knows nothing of: in its
 * terms two transfers that nothing orders conflict, and what orders by a lock variable or an event is
 * its value. */
int64_t mcchk_lock_type(int type)
{
	if (mcchk_self.coarray == 't')
		return 3;
	return type == MPI_LOCK_SHARED ? 1 : type == MPI_LOCK_EXCLUSIVE ? 2 : 0;
}

void mcchk_status_words(const MPI_Status *s, int64_t *words)
{
	MPI_Status copy = *s;
	MPI_Count bytes = 0;
	int cancelled = 0;

	words[0] = mcchk_rank(s->MPI_SOURCE);
	words[1] = mcchk_tag(s->MPI_TAG);
	if (PMPI_Get_elements_x(&copy, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED)
		bytes = -1;
	words[2] = (int64_t)bytes;
	PMPI_Test_cancelled(&copy, &cancelled);
	words[3] = cancelled != 0;
}

MPI_Status *mcchk_statuses(MPI_Status *s, int n, MPI_Status *one, MPI_Status **own)
{
	*own = NULL;
	if (s != MPI_STATUSES_IGNORE && s != MPI_STATUS_IGNORE)
		return s;
	if (n == 1) {
		memset(one, 0, sizeof *one);
		return one;
	}
	*own = calloc(n > 0 ? (size_t)n : 1, sizeof **own);
	return *own ? *own : s;
}

int mcchk_group_size(MPI_Group group)
{
	int n = 0;
	if (group != MPI_GROUP_NULL)
		PMPI_Group_size(group, &n);
	return n;
}

/* The world ranks of the group's members. */
void mcchk_group_words(MPI_Group group, int64_t *words)
{
	MPI_Group world;
	int n = mcchk_group_size(group);

	if (n == 0 || PMPI_Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS)
		return;
	for (int i = 0; i < n; i++) {
		int there = MPI_UNDEFINED;
		PMPI_Group_translate_ranks(group, 1, &i, world, &there);
		words[i] = mcchk_rank(there);
	}
	PMPI_Group_free(&world);
}
