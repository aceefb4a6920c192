/* SPDX-License-Identifier: Apache-2.0 */
/* coll.h: the verbs of `tutti coll`: for each a file coll_<verb>.c and a row in cmd_coll.c. argv[0] is the verb; they
 * return the exit code. Threads: one at a time. */
#ifndef TUTTI_COLL_H
#define TUTTI_COLL_H

#include "../../collective/interchange/msccl.h"
#include "../cli.h"
#include "tutti/schedule.h"
#include "tutti/topology.h"

#define TUTTI_COLL_COLLECTIVES                                                                                         \
    "allreduce, reduce-scatter, all-gather, gather, broadcast, reduce, all-to-all, barrier (default allreduce)"

int tutti_coll_list(int argc, char **argv);
int tutti_coll_check(int argc, char **argv);
int tutti_coll_compile(int argc, char **argv);
int tutti_coll_convert(int argc, char **argv);
int tutti_coll_bench(int argc, char **argv);
int tutti_coll_explain(int argc, char **argv);
int tutti_coll_tune(int argc, char **argv);
int tutti_coll_pack(int argc, char **argv);
int tutti_coll_verify_all(int argc, char **argv);

/* Flags that choose a schedule (coll_schedule.c). */
#define TUTTI_COLL_SCHEDULE_FLAGS                                                                                      \
    {"ranks", "P", "rank count", 0}, {"collective", "C", TUTTI_COLL_COLLECTIVES, 0},                                   \
        {"wire", "W", "two-sided, mapped, one-sided: lower it for that class (default two-sided)", 0},                 \
        {"hosts", "N,N,...", "lower it for hosts with these numbers of ranks, in order", 0},                           \
        {"slots", "S", "canonical sums over S slots, a power of two (default: fast sums)", 0},                         \
        {"topology", "T", "for algorithms that are bound to one, such as dgx1v,wires=nvlink,gpus=0.1.4", 0},           \
        {"root", "R", "of a gather, broadcast or reduce (default 0)", 0},                                              \
    {                                                                                                                  \
        "in-place", NULL, "the output is the input", 0                                                                 \
    }

typedef struct {
    tutti_topology *topology; /* the topology that the schedule was compiled for, or NULL */
    tutti_msccl *program;     /* the MSCCL program that was read, which owns `source`; or NULL */
    tutti_schedule *source;   /* the schedule as compiled or read */
    tutti_schedule *schedule; /* the schedule as lowered; the same as `source` if nothing was lowered */
} tutti_coll_schedule;

/* Reads --collective. */
tutti_status tutti_coll_collective(const tutti_flags *f, tutti_collective *out, tutti_failure *err);
/* Compiles algorithm `name` as the flags say; --ranks is required. The caller closes *out. */
tutti_status tutti_coll_compile_flags(const char *name, const tutti_flags *f, tutti_coll_schedule *out,
                                      tutti_failure *err);
/* Opens an algorithm of the table, or a file in text form or MSCCL XML. For a file, the flags may only give what
 * lowering needs, and the root of an MSCCL program. */
tutti_status tutti_coll_open(const char *what, const tutti_flags *f, tutti_coll_schedule *out, tutti_failure *err);
void tutti_coll_close(tutti_coll_schedule *s);
/* Writes the schedule as text to *out, for a limited number of ranks; the caller frees it. */
tutti_status tutti_coll_text(const tutti_schedule *s, char **out, tutti_failure *err);

#endif
