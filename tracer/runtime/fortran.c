/* MPI in Fortran: constants, statuses, and the procedures whose wrappers are
 * not generated. gfortran's names only: small letters and one underscore. */
#include "fortran.h"

#include <stdio.h>

#ifdef MPI_F_STATUS_SIZE
#define STATUS_SIZE MPI_F_STATUS_SIZE
#else
#define STATUS_SIZE (sizeof(MPI_Status) / sizeof(MPI_Fint))
#endif

/* ---- constants ---- */

/* Open MPI's are variables, whose addresses count. MPICH's C functions are given
 * those of C, so nothing has to be told here. */
#ifdef OPEN_MPI
extern MPI_Fint mpi_fortran_bottom_ __attribute__((weak)), mpi_fortran_in_place_ __attribute__((weak));
#endif

const void *mcchk_f_address(const void *p)
{
#ifdef OPEN_MPI
	if (p && p == &mpi_fortran_bottom_)
		return MPI_BOTTOM;
	if (p && p == &mpi_fortran_in_place_)
		return MPI_IN_PLACE;
#endif
	return p;
}

void *mcchk_f_copy(int n, size_t size)
{
	void *p = calloc(n > 0 ? (size_t)n : 1, size);
	if (!p) {
		fprintf(stderr, "mcchk: no memory for the arguments of a call\n");
		abort();
	}
	return p;
}

char *mcchk_f_text(const char *text, size_t length)
{
	char *copy = mcchk_f_copy((int)length + 1, 1);
	memcpy(copy, text, length);
	while (length > 0 && copy[length - 1] == ' ')
		copy[--length] = 0;
	return copy;
}

static int ignored(const void *statuses)
{
#ifdef MPICH
	if (statuses == (void *)MPI_F08_STATUS_IGNORE || statuses == (void *)MPI_F08_STATUSES_IGNORE)
		return 1;
#endif
	return statuses == (void *)MPI_F_STATUS_IGNORE || statuses == (void *)MPI_F_STATUSES_IGNORE;
}

MPI_Fint *mcchk_f_statuses(void *statuses, int n, MPI_Fint **own)
{
	*own = NULL;
	if (!ignored(statuses))
		return statuses;
	return *own = mcchk_f_copy(n, STATUS_SIZE * sizeof **own);
}

MPI_Status *mcchk_f_statuses_read(const MPI_Fint *statuses, int n)
{
	MPI_Status *read = mcchk_f_copy(n, sizeof *read);
	for (int i = 0; i < n; i++)
		PMPI_Status_f2c(statuses + (size_t)i * STATUS_SIZE, &read[i]);
	return read;
}

/* ---- numbers of elements ---- */

#ifdef OPEN_MPI

static int first_index(void) { return 1; }

#else

static int query(void *p, MPI_Status *status) { return MPI_SUCCESS; }
static int ignore(void *p) { return MPI_SUCCESS; }
static int cancel(void *p, int complete) { return MPI_SUCCESS; }

extern void pmpir_waitany_f08_() __attribute__((weak));

/* What the library calls the first element: 1 by the standard, 0 in the mpi_f08 of
 * some versions of MPICH (4.0). One finished request tells. */
static int first_index(void)
{
	static int known, first = 1;
	if (__atomic_load_n(&known, __ATOMIC_ACQUIRE))
		return first;
	MPI_Request request;
	if (pmpir_waitany_f08_ && PMPI_Grequest_start(query, ignore, cancel, NULL, &request) == MPI_SUCCESS) {
		MPI_Fint one = 1, index = 1, ierror, handle = PMPI_Request_c2f(request), status[STATUS_SIZE];
		PMPI_Grequest_complete(request);
		pmpir_waitany_f08_(&one, &handle, &index, status, &ierror);
		first = index == 0 ? 0 : 1;
	}
	__atomic_store_n(&known, 1, __ATOMIC_RELEASE);
	return first;
}

#endif

int mcchk_f_index(MPI_Fint index) { return index == MPI_UNDEFINED ? MPI_UNDEFINED : index - first_index(); }

/* ---- start and end ---- */

static void init(void *frame, void (*real)(), MPI_Fint *ierror)
{
	MPI_Fint rc = MPI_SUCCESS;
	uint64_t begin = mcchk_now();
	void *outer = mcchk_through(frame);

	mcchk_within(frame);
	real(&rc);
	mcchk_leave();
	mcchk_self.through = outer;
	if (rc == MPI_SUCCESS)
		mcchk_start(mcchk_fn_MPI_Init, NULL, 0, begin, mcchk_now(), frame);
	if (ierror)
		*ierror = rc;
}

static void init_thread(void *frame, void (*real)(), MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
	MPI_Fint rc = MPI_SUCCESS;
	uint64_t begin = mcchk_now();
	void *outer = mcchk_through(frame);

	mcchk_within(frame);
	real(required, provided, &rc);
	mcchk_leave();
	mcchk_self.through = outer;
	if (rc == MPI_SUCCESS)
		mcchk_start(mcchk_fn_MPI_Init_thread, provided, *required, begin, mcchk_now(), frame);
	if (ierror)
		*ierror = rc;
}

/* The end in Fortran is that in C: what the wrapper in C calls is all that there is. */
static void finalize(void *frame, MPI_Fint *ierror)
{
	void *outer = mcchk_through(frame);
	int rc = MPI_Finalize();

	mcchk_self.through = outer;
	if (ierror)
		*ierror = rc;
}

#pragma GCC visibility push(default)

extern void pmpi_init_() __attribute__((weak)), pmpi_init_thread_() __attribute__((weak));
void mpi_init_(MPI_Fint *ierror) { init(MCCHK_FRAME, pmpi_init_, ierror); }
void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
	init_thread(MCCHK_FRAME, pmpi_init_thread_, required, provided, ierror);
}
void mpi_finalize_(MPI_Fint *ierror) { finalize(MCCHK_FRAME, ierror); }

#ifdef OPEN_MPI
#define pmpir_init_f08_ pmpi_init_f08_
#define pmpir_init_thread_f08_ pmpi_init_thread_f08_
#endif
extern void pmpir_init_f08_() __attribute__((weak)), pmpir_init_thread_f08_() __attribute__((weak));
void mpi_init_f08_(MPI_Fint *ierror) { init(MCCHK_FRAME, pmpir_init_f08_, ierror); }
void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
	init_thread(MCCHK_FRAME, pmpir_init_thread_f08_, required, provided, ierror);
}
void mpi_finalize_f08_(MPI_Fint *ierror) { finalize(MCCHK_FRAME, ierror); }

#pragma GCC visibility pop
