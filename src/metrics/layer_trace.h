/* SPDX-License-Identifier: Apache-2.0 */
/* layer_trace.h: what each layer of a network costs, as text of six columns:
 *
 *   Id  Name  Forward  Backward  Comm  Size
 *   0   conv1 412.5    803.125   95.75 2080
 *
 * the columns in which Shi, Wang, Chu and Li (arXiv 1805.03812) published theirs: Id from 0 in the order of the model; a step's
 * forward, backward and communication in microseconds; Size in bytes, what is exchanged for the layer. Columns are parted by
 * blanks or tabs. Behind them may stand Read and Copy, also microseconds: reading a step's batch, and copying it to where it is
 * computed with. Only their sums are kept; they are read, never printed. Lines that begin with # are for people, but for four, which
 * say what the columns have no place for:
 *
 *   # update_s_per_element 1.2e-09    seconds that an element takes to be updated by a rule with one state (20 bytes), on one rank
 *   # load_s_per_sample 3e-05         seconds that a loader takes for a sample
 *   # step_spread 0.98 0.99 1.04      what kernels took in a step over the mean of the steps, in order (step_spread.h)
 *   # rule adamw                      the rule by which parameters were updated there
 *
 * Reading what was printed gives the same rows. Threads: owner. */
#ifndef TUTTI_LAYER_TRACE_H
#define TUTTI_LAYER_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/arena.h"
#include "../base/text/strbuf.h"
#include "step_spread.h"
#include "tutti/failure.h"

typedef struct {
    const char *name; /* without blanks, unique */
    double forward_us, backward_us, comm_us;
    int64_t size_bytes;
} tutti_layer_cost;

typedef struct {
    tutti_layer_cost *layers;
    int nlayers;
    double update_s_per_element, load_s_per_sample; /* NaN: it does not say */
    char rule[16];                                  /* "": it does not say */
    tutti_step_spread spread;
    double read_us, copy_us; /* of a step: all rows together; 0 where the columns are not there */
    tutti_arena arena;       /* of what was read */
} tutti_layer_trace;

/* Times are rounded to a nanosecond. */
void tutti_layer_trace_print(const tutti_layer_cost *layers, int nlayers, tutti_strbuf *out);
/* Goes behind the rows. What is NaN is not said. */
void tutti_layer_trace_print_rates(double update_s_per_element, double load_s_per_sample, tutti_strbuf *out);
/* So does this: ratios are rounded to five places. One that is not known is not said. */
void tutti_layer_trace_print_spread(const tutti_step_spread *spread, tutti_strbuf *out);
/* Whether the file begins as one does: its first words are Id and Name. */
bool tutti_layer_trace_is(const char *path);
/* TUTTI_ERR_DATA names line and column: "layers.txt: line 3: Backward: 'x' is no time in microseconds". */
tutti_status tutti_layer_trace_parse(const char *name, const char *text, size_t nbytes, tutti_layer_trace *out,
                                     tutti_failure *err);
tutti_status tutti_layer_trace_read(const char *path, tutti_layer_trace *out, tutti_failure *err);
void tutti_layer_trace_release(tutti_layer_trace *t);

#endif
