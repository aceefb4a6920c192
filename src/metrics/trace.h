/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: traces of a run: layer traces of six columns, spans of all ranks, and the traces that PyTorch's profiler
 * writes. */
#ifndef TUTTI_TRACE_H
#define TUTTI_TRACE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/arena.h"
#include "../base/text/strbuf.h"
#include "tutti/failure.h"

/* How steps that do the same work differ in time: the time of each step divided by the mean of all, in ascending order.
 * Threads: any (pure functions). */

enum { TUTTI_SPREAD_MOST = 33 }; /* number of ratios that are kept: 32 equal parts of the steps */
#define TUTTI_SPREAD_LEAST_RATIO 1e-5
#define TUTTI_SPREAD_MOST_RATIO  1e5

typedef struct {
    int n;                           /* number of ratios: 0 = not known; else 2 .. TUTTI_SPREAD_MOST */
    double ratio[TUTTI_SPREAD_MOST]; /* the ratios, ascending */
} tutti_step_spread;

/* Computes the spread of n steps from their seconds >= 0, which are sorted in place. Of many steps it keeps the ratios
 * that divide them into 32 equal parts. The spread is not known if there are fewer than two steps, or if no step takes
 * any time. */
void tutti_step_spread_take(double *seconds, size_t n, tutti_step_spread *out);

/* Returns the ratio that a share `at` (0 to 1) of the steps stays below: linear between two ratios, the least at 0, the
 * largest at 1 (Hyndman and Fan, The American Statistician 50 (1996), definition 7). 1 if it is not known. */
double tutti_step_spread_quantile(const tutti_step_spread *s, double at);

/* Costs of each layer of a network, as text of six columns:
 *
 *   Id  Name  Forward  Backward  Comm  Size
 *   0   conv1 412.5    803.125   95.75 2080
 *
 * These are the columns in which Shi, Wang, Chu and Li (arXiv 1805.03812) published theirs: Id from 0 in the order of
 * the model; a step's forward, backward and communication times in microseconds; Size in bytes, what is exchanged for
 * the layer. Blanks or tabs separate the columns. Two more may follow, Read and Copy, also in microseconds: reading a
 * step's batch, and copying it to the device that computes. Only their sums are kept; they are read, never printed.
 * Lines that begin with # are for people, except four, which hold what has no column:
 *
 *   # update_s_per_element 1.2e-09    seconds to update an element by a rule with one state (20 bytes), on one rank
 *   # load_s_per_sample 3e-05         seconds that a loader takes for a sample
 *   # step_spread 0.98 0.99 1.04      time of kernels in a step divided by the mean over steps, in order
 *   # rule adamw                      the rule that updated parameters there
 *
 * Reading what was printed gives the same rows. Threads: one at a time. */

typedef struct {
    const char *name; /* name of the layer: unique, without blanks */
    double forward_us, backward_us, comm_us;
    int64_t size_bytes;
} tutti_layer_cost;

typedef struct {
    tutti_layer_cost *layers;
    int nlayers;
    double update_s_per_element, load_s_per_sample; /* seconds to update an element, to load a sample; NaN = not
                                                     * given */
    char rule[16];                                  /* name of the update rule; "" = not given */
    tutti_step_spread spread;
    double read_us, copy_us; /* columns Read and Copy, summed over all rows: microseconds in a step; 0 if the columns
                              * are missing */
    tutti_arena arena;       /* owns the memory of rows and names */
} tutti_layer_trace;

/* Appends the columns' names and a row for each layer; times are rounded to a nanosecond. */
void tutti_layer_trace_print(const tutti_layer_cost *layers, int nlayers, tutti_strbuf *out);
/* Appends the two figures after the rows; a figure that is NaN is left out. */
void tutti_layer_trace_print_rates(double update_s_per_element, double load_s_per_sample, tutti_strbuf *out);
/* Appends the spread after the rows, rounded to five places; nothing if it is not known. */
void tutti_layer_trace_print_spread(const tutti_step_spread *spread, tutti_strbuf *out);
/* True if the file begins like a layer trace: its first words are Id and Name. */
bool tutti_layer_trace_is(const char *path);
/* Parses a layer trace. TUTTI_ERR_DATA names line and column: "layers.txt: line 3: Backward: 'x' is no time in
 * microseconds". */
tutti_status tutti_layer_trace_parse(const char *name, const char *text, size_t nbytes, tutti_layer_trace *out,
                                     tutti_failure *err);
tutti_status tutti_layer_trace_read(const char *path, tutti_layer_trace *out, tutti_failure *err);
void tutti_layer_trace_release(tutti_layer_trace *t);

/* A trace of PyTorch's profiler (Kineto's JSON, as torch.profiler's export_chrome_trace writes it) as a layer trace.
 *
 * The trace must have activities CPU, record_shapes=True (bytes of parameters), with_stack=True (spans of modules), and
 * a forward and a backward pass.
 *
 *   layer     an instance of a torch.nn module that runs operators itself, not in a module inside it; named as the
 *             profiler does, `Conv2d_0`; ordered by its first operator. Operators outside all modules whose gradients
 *             are computed are the layer `outside`
 *   Forward   the module's span without the spans of modules in it
 *   Backward  spans of the autograd engine (`autograd::engine::evaluate_function: ...`) that bear the sequence number
 *             of one of its operators
 *   Size      parameters of its operators by their shapes and types (rows of kineto.c); 0 if it has none
 * All are means over the spans `ProfilerStep#N`; without these the whole trace is one step. Comm is 0. The optimiser
 * and the containers' own time are left out. Threads: one at a time. */

/* Parses such a trace. TUTTI_ERR_DATA: the text is no JSON, no such trace, a trace of a GPU (whose kernels are not
 * followed), or the options above were missing. */
tutti_status tutti_kineto_parse(const char *name, const char *text, size_t nbytes, tutti_layer_trace *out,
                                tutti_failure *err);
tutti_status tutti_kineto_read(const char *path, tutti_layer_trace *out, tutti_failure *err);

/* Named stretches of time of one rank, recorded into memory that was allocated before: to record a span is five stores.
 *
 * Names are labels: a table that is the same on all ranks, so that a span has 24 bytes and is sent as it is. Times are
 * those of tutti_clock_ns (CLOCK_MONOTONIC): on one host all ranks read the same clock, so their spans need no
 * shifting. Threads: one at a time. */

typedef struct {
    int64_t begin_ns, end_ns;
    int32_t label;
    int32_t step; /* step, counted from 1, as in metrics.jsonl */
} tutti_span;
static_assert(sizeof(tutti_span) == 24, "spans travel between ranks as they are");

typedef struct {
    tutti_span *spans;
    int64_t n, capacity, dropped; /* n: recorded spans; capacity: room; dropped: spans for which there was no room */
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

/* The kind of lane (row of the picture) in which a span is drawn. Spans of compute follow or enclose one another; spans
 * of other lanes may overlap. */
typedef enum { TUTTI_TRACK_COMPUTE, TUTTI_TRACK_EXCHANGE, TUTTI_TRACK_LOADER, TUTTI_NTRACKS } tutti_track;

typedef struct {
    const char *name;
    tutti_track track;
    bool numbered; /* the step is appended to the name: "ProfilerStep#7" */
    /* the collective of an exchange, as schedules name it (NULL = nothing is exchanged), and its algorithm */
    const char *collective, *algorithm;
    const char *type;                  /* type of the elements, as tutti_dtype_name writes it */
    int64_t elements_in, elements_out; /* elements that each rank gives to the collective, and gets from it */
    const int32_t *members;            /* ranks that take part; NULL = all */
    int nmembers;
} tutti_span_label;

/* Spans of all ranks as one JSON text that Perfetto and chrome://tracing open, in the format of PyTorch's profiler
 * (schemaVersion 1, times in microseconds after baseTimeNanoseconds, steps named ProfilerStep#N, collectives with the
 * argument names that trace readers look for). A process is a rank; its threads are compute, one lane for each exchange
 * that was in flight at once, and the loader. docs/traces.md. Threads: any (pure functions). */

typedef struct {
    const char *name; /* name of the rank: "rank 0 (host box, pid 4711)" */
    tutti_span *spans;
    int64_t nspans;
} tutti_rank_spans;

typedef struct {
    const tutti_span_label *labels;
    tutti_rank_spans *ranks;
    int nranks;
    int64_t wall_ns; /* time since 1970 at which the clock of the spans was 0 */
} tutti_trace;

/* Appends the trace as JSON; sorts each rank's spans by time first. O(n log n). */
void tutti_chrome_trace_print(const tutti_trace *trace, tutti_strbuf *out);

#endif
