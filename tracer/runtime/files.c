/* Files: identifiers that all processes of a file agree on, and the buffer of
 * the split collective call that may be under way on each. */
#include "wrap.h"

struct file {
	int64_t id;
	struct mcchk_ranges buffer; /* of a split collective call; empty: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mcchk_map files;
static int64_t last_file;

static struct file *get(MPI_File fh)
{
	mcchk_lock(&lock);
	struct file *f = mcchk_map_get(&files, mcchk_handle(fh));
	mcchk_unlock(&lock);
	return f;
}

int64_t mcchk_file_made(MPI_File fh, MPI_Comm comm)
{
	struct file *f = calloc(1, sizeof *f);
	int64_t id = mcchk_pick_id(comm, &last_file);

	if (!f)
		return 0;
	f->id = id;
	mcchk_lock(&lock);
	mcchk_map_set(&files, mcchk_handle(fh), f);
	mcchk_unlock(&lock);
	return id;
}

int64_t mcchk_file_id(MPI_File fh)
{
	struct file *f = get(fh);
	return f ? f->id : 0;
}

void mcchk_file_completed(MPI_File fh)
{
	struct file *f = get(fh);
	if (!f)
		return;
	mcchk_ranges_mark(&f->buffer, 0);
	mcchk_ranges_drop(&f->buffer);
}

void mcchk_file_pending(MPI_File fh, const void *p, MPI_Count count, MPI_Datatype type)
{
	struct file *f = get(fh);
	if (!f)
		return;
	mcchk_file_completed(fh);
	mcchk_places(p, 0, count, type, mcchk_ranges_collect, &f->buffer);
	mcchk_ranges_mark(&f->buffer, 1);
}

void mcchk_file_closed(MPI_File fh)
{
	mcchk_file_completed(fh);
	mcchk_lock(&lock);
	struct file *f = mcchk_map_get(&files, mcchk_handle(fh));
	mcchk_map_set(&files, mcchk_handle(fh), NULL);
	mcchk_unlock(&lock);
	free(f);
}
