/* SPDX-License-Identifier: Apache-2.0 */
/* msccl.h: MSCCL's XML programs as schedules, and schedules as MSCCL XML (docs/interchange.md).
 *
 * A program has, for each GPU, thread blocks that play steps in order over chunks of three buffers (input, output,
 * scratch). A block sends to at most one GPU, receives from at most one, and may wait for one step of another block of
 * its GPU. In the schedule, a block is a sequence, a connection (src, dst, chan) a channel, a chunk a slice. Steps that
 * do several things at once (rrc, rrs, rcs, rrcs) become several. Chunks keep their place in the vector as they travel.
 * If a piece of scratch holds different chunks one after the other, the schedule has a buffer for each;
 * tutti_msccl_check proves the program with all of these buffers in one memory, as the program will run.
 *
 * Every program that the format's readers accept becomes a schedule, right or wrong; the proof says which. Where the
 * tools of MSCCL differ from its interpreter, the interpreter's meaning counts (tutti_msccl_remarks names the places).
 * The facts are from the sources of microsoft/msccl (src/graph/topo.cc, msccl_interpreter.h) and microsoft/msccl-tools
 * (ir.py).
 *
 * Threads: one at a time. */
#ifndef TUTTI_COLLECTIVE_INTERCHANGE_MSCCL_H
#define TUTTI_COLLECTIVE_INTERCHANGE_MSCCL_H

#include "../../base/text/strbuf.h"
#include "tutti/check.h"
#include "tutti/schedule.h"

typedef struct tutti_msccl tutti_msccl;

/* Returns true if the text looks like XML. (A schedule in our text form never does.) */
bool tutti_msccl_is(const char *text, size_t nbytes);
/* Reads a program. root: the root of a broadcast or reduce, which the format does not name. TUTTI_ERR_DATA names the
 * line. */
tutti_status tutti_msccl_read(const char *name, const char *text, size_t nbytes, int32_t root, tutti_msccl **out,
                              tutti_failure *err);
void tutti_msccl_destroy(tutti_msccl *m); /* NULL is accepted */

/* returns the schedule, two-sided; lives as long as m */
tutti_schedule *tutti_msccl_schedule(const tutti_msccl *m);
/* Tells the check in what the program's reader deviates from that of microsoft/msccl. "hasdep": the reader lets a step
 * wake its waiters even if it has hasdep="0". TUTTI_ERR_USAGE: unknown name. */
tutti_status tutti_msccl_allow(tutti_msccl *m, const char *what, tutti_failure *err);
/* Proves the program as its interpreter runs it, over connections that hold `capacity` messages. A counter-example
 * names GPU, block and step. Then checks that every step for which others wait has hasdep="1": otherwise readers
 * hang. */
tutti_status tutti_msccl_check(const tutti_msccl *m, int32_t capacity, tutti_check_report *report, tutti_failure *err);
/* Returns the number of messages that a connection of the program holds: 8 for the protocol LL, else 2. */
int32_t tutti_msccl_room(const tutti_msccl *m);
int32_t tutti_msccl_holds(bool low_latency); /* returns the number of messages that a connection holds: for the protocol
                                              * LL if low_latency, else for Simple */
/* Writes what a reader should know in addition to the proof, a line for each remark: operands that tools and
 * interpreter read differently, limits of the readers, attributes that some require. Writes nothing if there is nothing
 * to say. */
void tutti_msccl_remarks(const tutti_msccl *m, tutti_strbuf *out);

/* Returns the schedule as XML (the caller's, free()). TUTTI_ERR_USAGE says why the format cannot hold it. s must be
 * two-sided. */
tutti_status tutti_msccl_export(const tutti_schedule *s, char **out, tutti_failure *err);

#endif
