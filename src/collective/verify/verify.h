/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h: the matrix of schedules that must be right: every row of the table of algorithms x collective x variant x
 * rank count, unlowered and lowered for every wire class. `tutti coll verify-all` and the conformance test prove the
 * same matrix.
 *
 * Contents:
 *   up to 33 ranks   every variant, in place or not, canonical sums or not
 *   above            the row's own parameters, without canonical sums, not in place. A schedule with more than
 *                    TUTTI_VERIFY_STEPS steps (rows that send p^2 messages) appears at 1,024 ranks only, and lowered
 *                    only for the row's first collective
 *   on topologies    rows that need one, on the topologies of verify_topologies.c, with as many ranks as those have
 *                    seats
 * `left_out` lists the cases that these rules leave out, with their sizes.
 *
 * Threads: any, once made. */
#ifndef TUTTI_COLLECTIVE_VERIFY_H
#define TUTTI_COLLECTIVE_VERIFY_H

#include "../../base/text/strbuf.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/schedule.h"
#include "tutti/topology.h"

enum { TUTTI_VERIFY_STEPS = 1500000, TUTTI_VERIFY_MOST = 1024 };

typedef struct {
    int row;                              /* index in the table of algorithms */
    char algorithm[TUTTI_ALGORITHM_TEXT]; /* algorithm with its parameters, such as "k-nomial,radix=4" */
    tutti_compile_request request;
    tutti_wire_class wire;
    int64_t nsteps; /* steps of all ranks, unlowered, estimated from rank 0 */
} tutti_verify_case;

typedef struct {
    tutti_verify_case *cases; /* cases in ascending order of rank counts */
    int64_t ncases, capacity;
    tutti_topology *topologies;
    tutti_strbuf left_out; /* one line for each case left out; may be empty (text NULL) */
} tutti_verify_matrix;

/* Makes the matrix. ranks: NULL = 1 to 33, 48, 64, 96, 127, 128, 255, 256, 1000, 1024. Cost: makes part 0 of every
 * schedule. */
void tutti_verify_create(const int32_t *ranks, int nranks, tutti_verify_matrix *out);
void tutti_verify_release(tutti_verify_matrix *m);

/* Compiles, lowers and proves one case; TUTTI_ERR_FAILED with the counter-example. */
tutti_status tutti_verify_prove(const tutti_verify_case *c, tutti_check_report *report, tutti_failure *err);
/* Writes the name of a case: "ring allreduce of 4 ranks, mapped", then `in place`, slots and topology if it has
 * them. */
void tutti_verify_name(const tutti_verify_case *c, char out[200]);

/* Returns an array of *n parsed topologies, which the caller gives to free(). */
tutti_topology *tutti_verify_topologies(int *n);

#endif
