/* What the MPI library is made to decide. The tracer's wrappers call the
 * functions here in place of those of the library (--wrap).
 *
 * A call that shows something which has not come to pass yet (a test that is to
 * succeed) is made until it does: the history says that it can. One that is to
 * show nothing is not made: the library might already know more.
 */
#include "turns.h"

int forced_source(int source);
int forced_flag(void);
int forced_done(const int **indices);

#ifndef LAYER
#define LAYER PMPI_ /* below the tracer; MPI_ for a program that is not traced */
#endif
#define PASTE(a, b, c) a##b##c
#define JOIN(a, b, c) PASTE(a, b, c)
#define REAL(name) JOIN(__real_, LAYER, name)
#define WRAP(name) JOIN(__wrap_, LAYER, name)

/* f(…), made until *flag is set. */
#define UNTIL(flag, call)                                      \
	do {                                                   \
		int want_ = forced_flag(), err_ = MPI_SUCCESS; \
		*(flag) = 0;                                   \
		if (want_ < 0)                                 \
			return call;                           \
		while (want_ && !*(flag) && err_ == MPI_SUCCESS) \
			err_ = call;                           \
		return err_;                                   \
	} while (0)

#define DECLARE(name, ...)          \
	int REAL(name)(__VA_ARGS__); \
	int WRAP(name)(__VA_ARGS__); \
	int WRAP(name)(__VA_ARGS__)

/* ---- which message a wildcard gets ---- */

DECLARE(Recv, void *p, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Status *s)
{
	return REAL(Recv)(p, n, t, forced_source(source), tag, c, s);
}

DECLARE(Irecv, void *p, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Request *r)
{
	return REAL(Irecv)(p, n, t, forced_source(source), tag, c, r);
}

DECLARE(Recv_init, void *p, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Request *r)
{
	return REAL(Recv_init)(p, n, t, forced_source(source), tag, c, r);
}

DECLARE(Sendrecv, const void *p, int n, MPI_Datatype t, int dest, int stag, void *q, int m, MPI_Datatype u, int source, int rtag,
	MPI_Comm c, MPI_Status *s)
{
	return REAL(Sendrecv)(p, n, t, dest, stag, q, m, u, forced_source(source), rtag, c, s);
}

DECLARE(Sendrecv_replace, void *p, int n, MPI_Datatype t, int dest, int stag, int source, int rtag, MPI_Comm c, MPI_Status *s)
{
	return REAL(Sendrecv_replace)(p, n, t, dest, stag, forced_source(source), rtag, c, s);
}

DECLARE(Probe, int source, int tag, MPI_Comm c, MPI_Status *s)
{
	return REAL(Probe)(forced_source(source), tag, c, s);
}

DECLARE(Mprobe, int source, int tag, MPI_Comm c, MPI_Message *m, MPI_Status *s)
{
	return REAL(Mprobe)(forced_source(source), tag, c, m, s);
}

DECLARE(Iprobe, int source, int tag, MPI_Comm c, int *flag, MPI_Status *s)
{
	source = forced_source(source);
	UNTIL(flag, REAL(Iprobe)(source, tag, c, flag, s));
}

DECLARE(Improbe, int source, int tag, MPI_Comm c, int *flag, MPI_Message *m, MPI_Status *s)
{
	source = forced_source(source);
	UNTIL(flag, REAL(Improbe)(source, tag, c, flag, m, s));
}

#if MPI_VERSION >= 4
DECLARE(Isendrecv, const void *p, int n, MPI_Datatype t, int dest, int stag, void *q, int m, MPI_Datatype u, int source, int rtag,
	MPI_Comm c, MPI_Request *r)
{
	return REAL(Isendrecv)(p, n, t, dest, stag, q, m, u, forced_source(source), rtag, c, r);
}

DECLARE(Isendrecv_replace, void *p, int n, MPI_Datatype t, int dest, int stag, int source, int rtag, MPI_Comm c, MPI_Request *r)
{
	return REAL(Isendrecv_replace)(p, n, t, dest, stag, forced_source(source), rtag, c, r);
}

DECLARE(Parrived, MPI_Request r, int partition, int *flag)
{
	UNTIL(flag, REAL(Parrived)(r, partition, flag));
}
#endif

/* ---- whether something is complete ---- */

DECLARE(Win_test, MPI_Win w, int *flag)
{
	UNTIL(flag, REAL(Win_test)(w, flag));
}

DECLARE(Test, MPI_Request *r, int *flag, MPI_Status *s)
{
	UNTIL(flag, REAL(Test)(r, flag, s));
}

DECLARE(Testall, int n, MPI_Request *r, int *flag, MPI_Status *s)
{
	UNTIL(flag, REAL(Testall)(n, r, flag, s));
}

DECLARE(Request_get_status, MPI_Request r, int *flag, MPI_Status *s)
{
	UNTIL(flag, REAL(Request_get_status)(r, flag, s));
}

/* A cancel that fails does because the message is there. */
DECLARE(Cancel, MPI_Request *r)
{
	for (int there = forced_flag(); !there;)
		REAL(Request_get_status)(*r, &there, MPI_STATUS_IGNORE);
	return REAL(Cancel)(r);
}

/* ---- which of several are complete ---- */

DECLARE(Waitany, int n, MPI_Request *r, int *index, MPI_Status *s)
{
	const int *which;
	if (forced_done(&which) <= 0)
		return REAL(Waitany)(n, r, index, s);
	*index = which[0];
	return PMPI_Wait(&r[which[0]], s);
}

DECLARE(Testany, int n, MPI_Request *r, int *index, int *flag, MPI_Status *s)
{
	const int *which;
	int done = forced_done(&which), want = forced_flag();
	if (want == 0) {
		*flag = 0;
		*index = MPI_UNDEFINED;
		return MPI_SUCCESS;
	}
	if (done <= 0)
		return REAL(Testany)(n, r, index, flag, s);
	*flag = 1;
	*index = which[0];
	return PMPI_Wait(&r[which[0]], s);
}

static int wait_for(int done, const int *which, MPI_Request *r, int *count, int *indices, MPI_Status *s)
{
	int err = MPI_SUCCESS;
	*count = done;
	for (int k = 0; k < done && err == MPI_SUCCESS; k++) {
		indices[k] = which[k];
		err = PMPI_Wait(&r[which[k]], s == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &s[k]);
	}
	return err;
}

DECLARE(Waitsome, int n, MPI_Request *r, int *count, int *indices, MPI_Status *s)
{
	const int *which;
	int done = forced_done(&which);
	if (done <= 0)
		return REAL(Waitsome)(n, r, count, indices, s);
	return wait_for(done, which, r, count, indices, s);
}

DECLARE(Testsome, int n, MPI_Request *r, int *count, int *indices, MPI_Status *s)
{
	const int *which;
	int done = forced_done(&which), some = 0;
	for (int k = 0; k < n; k++)
		some |= r[k] != MPI_REQUEST_NULL;
	if (done < 0 || !some)
		return REAL(Testsome)(n, r, count, indices, s);
	return wait_for(done, which, r, count, indices, s);
}
