/* What the generated wrappers of GASPI call, and what the hooks of gaspi.tbl may use.
 */
#ifndef MCCHK_GASPI_H
#define MCCHK_GASPI_H

#include "calls.h"

#include <GASPI.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)

extern const uint16_t mcchk_fn_gaspi_proc_init, mcchk_fn_gaspi_proc_term;

/* ---- values as the trace format has them ---- */

int64_t mcchk_gaspi_result(gaspi_return_t rc);
int64_t mcchk_group_id(gaspi_group_t group);
int64_t mcchk_gaspi_size(gaspi_datatype_t type);

/* ---- segments ---- */

/* The segment has been made: where it lies. */
void *mcchk_segment_made(gaspi_segment_id_t id, uint64_t size);
void mcchk_segment_deleted(gaspi_segment_id_t id);

/* ---- queues ---- */

void mcchk_gaspi_posts(void); /* the calling thread is about to post to a queue, */
void mcchk_gaspi_waits(void); /* or to wait for one */
int mcchk_gaspi_waited(gaspi_queue_id_t queue);

/* ---- collective calls ---- */

/* A barrier has returned. */
void mcchk_gaspi_passed(gaspi_group_t group, gaspi_return_t rc);

/* A reduction of buffers of so many bytes has returned to the wrapper with that frame. */
void mcchk_gaspi_reduced(gaspi_group_t group, const void *send, const void *receive, uint64_t bytes, gaspi_return_t rc, void *frame);

#pragma GCC visibility pop
#endif
