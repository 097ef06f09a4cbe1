/* Order that the program declares: MPI_Pcontrol with the levels of mcchk.h,
 * which every MPI library ignores. */
#include "wrap.h"

#include <stdarg.h>

enum { SIGNAL = 7101, WAIT, SIGNAL_PROCESS, WAIT_PROCESS };

static void resource(uint16_t function, MPI_Win win, int rank, int number, int signal)
{
	int64_t *words = mcchk_call_begin(function, 4, (void *)mcchk_self.frame);
	mcchk_call_commit();
	int64_t count = mcchk_win_declared(win, rank, number, signal);
	if (words) {
		words[0] = mcchk_win_id(win);
		words[1] = rank;
		words[2] = number;
		words[3] = count;
	}
	mcchk_call_end(mcchk_now(), 0);
}

static void process(uint16_t function, MPI_Comm comm, int rank, int tag)
{
	mcchk_comm_define(comm);
	int64_t *words = mcchk_call_begin(function, 3, (void *)mcchk_self.frame);
	if (words) {
		words[0] = mcchk_comm_id(comm);
		words[1] = rank;
		words[2] = tag;
	}
	mcchk_call_commit();
	mcchk_call_end(mcchk_now(), 0);
}

int MPI_Pcontrol(const int level, ...)
{
	va_list args;

	if (level < SIGNAL || level > WAIT_PROCESS)
		return PMPI_Pcontrol(level);
	if (!mcchk_enter(MCCHK_FRAME))
		return MPI_SUCCESS;
	va_start(args, level);
	if (level <= WAIT) {
		MPI_Win win = va_arg(args, MPI_Win);
		int rank = va_arg(args, int), number = va_arg(args, int);
		resource(level == SIGNAL ? mcchk_fn_mcchk_signal : mcchk_fn_mcchk_wait, win, rank, number, level == SIGNAL);
	} else {
		MPI_Comm comm = va_arg(args, MPI_Comm);
		int rank = va_arg(args, int), tag = va_arg(args, int);
		process(level == SIGNAL_PROCESS ? mcchk_fn_mcchk_signal_process : mcchk_fn_mcchk_wait_process, comm, rank, tag);
	}
	va_end(args);
	mcchk_leave();
	return MPI_SUCCESS;
}
