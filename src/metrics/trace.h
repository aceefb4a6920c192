/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: traces of a run: layer traces of six columns, spans of all ranks, and what PyTorch's profiler writes of
 * both. */
#ifndef TUTTI_TRACE_H
#define TUTTI_TRACE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/arena.h"
#include "../base/text/strbuf.h"
#include "tutti/failure.h"

/* How steps that do the same differ in time: what each takes over the mean of all, in order. Threads: shared (pure). */

enum { TUTTI_SPREAD_MOST = 33 }; /* ratios that are kept: 32 parts of the steps */
#define TUTTI_SPREAD_LEAST_RATIO 1e-5
#define TUTTI_SPREAD_MOST_RATIO  1e5

typedef struct {
    int n;                           /* 0: not known; else 2 .. TUTTI_SPREAD_MOST */
    double ratio[TUTTI_SPREAD_MOST]; /* ascending, of the two bounds above at most */
} tutti_step_spread;

/* Of the seconds >= 0 of n steps, which are put in order. Of more than are kept those that part them into 32 alike. Not
 * known: fewer than two steps, or none that takes any time. */
void tutti_step_spread_take(double *seconds, size_t n, tutti_step_spread *out);

/* What a share `at` (0 to 1) of the steps stays below: straight between two ratios, the least at 0, the largest at 1
 * (Hyndman and Fan, The American Statistician 50 (1996), definition 7). 1 where it is not known. */
double tutti_step_spread_quantile(const tutti_step_spread *s, double at);

/* What each layer of a network costs, as text of six columns:
 *
 *   Id  Name  Forward  Backward  Comm  Size
 *   0   conv1 412.5    803.125   95.75 2080
 *
 * the columns in which Shi, Wang, Chu and Li (arXiv 1805.03812) published theirs: Id from 0 in the order of the model;
 * a step's forward, backward and communication in microseconds; Size in bytes, what is exchanged for the layer. Columns
 * are parted by blanks or tabs. Behind them may stand Read and Copy, also microseconds: reading a step's batch, and
 * copying it to where it is computed with. Only their sums are kept; they are read, never printed. Lines that begin
 * with # are for people, but for four, which say what the columns have no place for:
 *
 *   # update_s_per_element 1.2e-09    seconds that an element takes to be updated by a rule with one state (20 bytes),
 *                                     on one rank
 *   # load_s_per_sample 3e-05         seconds that a loader takes for a sample
 *   # step_spread 0.98 0.99 1.04      what kernels took in a step over the mean of the steps, in order
 *   # rule adamw                      the rule by which parameters were updated there
 *
 * Reading what was printed gives the same rows. Threads: owner. */

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

/* A trace of PyTorch's profiler (Kineto's JSON, as torch.profiler's export_chrome_trace writes it) as a layer trace.
 *
 * Wanted: activities CPU, record_shapes=True (bytes of parameters), with_stack=True (spans of modules), and a forward
 * and a backward pass.
 *
 *   layer     an instance of a torch.nn module that runs operators itself, not in a module inside it: the profiler's
 *             name for it, `Conv2d_0`. Order: of its first operator. Operators outside all modules whose gradients are
 *             computed are the layer `outside`
 *   Forward   the module's span without the spans of modules in it
 *   Backward  spans of the autograd engine (`autograd::engine::evaluate_function: ...`) that bear the sequence number
 *             of one of its operators
 *   Size      parameters of its operators by their shapes and types (rows of kineto.c); 0 where it has none
 * Means over the spans `ProfilerStep#N`; where there is none all is one step. Comm is 0. Optimiser and containers' own
 * time are left out. Threads: owner. */

/* TUTTI_ERR_DATA: no JSON, no such trace, a trace of a GPU (whose kernels are not followed), or the options above were
 * missing. */
tutti_status tutti_kineto_parse(const char *name, const char *text, size_t nbytes, tutti_layer_trace *out,
                                tutti_failure *err);
tutti_status tutti_kineto_read(const char *path, tutti_layer_trace *out, tutti_failure *err);

/* Named stretches of time of one rank, recorded into memory that is there beforehand: to record is five stores.
 *
 * Names are labels: a table that is the same on all ranks, so that a span is 24 bytes and travels as it is. Times are
 * those of tutti_clock_ns (CLOCK_MONOTONIC): on one host all ranks read the same clock, so their spans need no
 * shifting. Threads: owner. */

typedef struct {
    int64_t begin_ns, end_ns;
    int32_t label;
    int32_t step; /* from 1, as in metrics.jsonl */
} tutti_span;
static_assert(sizeof(tutti_span) == 24, "spans travel between ranks as they are");

typedef struct {
    tutti_span *spans;
    int64_t n, capacity, dropped; /* dropped: there was no room for them */
} tutti_spans;

void tutti_spans_init(tutti_spans *s, int64_t capacity);
void tutti_spans_release(tutti_spans *s);

static inline void tutti_spans_add(tutti_spans *s, int32_t label, int64_t step, int64_t begin_ns, int64_t end_ns)
{
    if (s->n < s->capacity)
        s->spans[s->n++] = (tutti_span){begin_ns, end_ns, label, (int32_t)step};
    else
        s->dropped++;
}

/* Where a span is drawn. Stretches of compute follow or enclose one another; those of the others may overlap. */
typedef enum { TUTTI_TRACK_COMPUTE, TUTTI_TRACK_EXCHANGE, TUTTI_TRACK_LOADER, TUTTI_NTRACKS } tutti_track;

typedef struct {
    const char *name;
    tutti_track track;
    bool numbered; /* the step is a part of the name: "ProfilerStep#7" */
    /* what travels; collective, as schedules name it: NULL = nothing does */
    const char *collective, *algorithm;
    const char *type;                  /* of its elements, as tutti_dtype_name says it */
    int64_t elements_in, elements_out; /* of each rank */
    const int32_t *members;            /* between whom; NULL: all */
    int nmembers;
} tutti_span_label;

/* Spans of all ranks as one JSON text that Perfetto and chrome://tracing open, written the way PyTorch's profiler
 * does (schemaVersion 1, times in microseconds after baseTimeNanoseconds, steps named ProfilerStep#N, collectives with
 * the argument names that trace readers look for). A process is a rank; its threads are compute, as many exchange lanes
 * as exchanges were in flight at once, and the loader. docs/traces.md. Threads: shared (pure). */

typedef struct {
    const char *name; /* "rank 0 (host box, pid 4711)" */
    tutti_span *spans;
    int64_t nspans;
} tutti_rank_spans;

typedef struct {
    const tutti_span_label *labels;
    tutti_rank_spans *ranks;
    int nranks;
    int64_t wall_ns; /* since 1970, when the clock of the spans stood at 0 */
} tutti_trace;

/* Sorts each rank's spans by time. O(n log n). */
void tutti_chrome_trace_print(const tutti_trace *trace, tutti_strbuf *out);

#endif
