/* SPDX-License-Identifier: Apache-2.0 */
/* chrome_trace.h: spans of all ranks as one JSON text that Perfetto and chrome://tracing open, written the way PyTorch's profiler
 * does (schemaVersion 1, times in microseconds after baseTimeNanoseconds, steps named ProfilerStep#N, collectives with the
 * argument names that trace readers look for). A process is a rank; its threads are compute, as many exchange lanes as exchanges
 * were in flight at once, and the loader. docs/traces.md. Threads: shared (pure). */
#ifndef TUTTI_CHROME_TRACE_H
#define TUTTI_CHROME_TRACE_H

#include "../base/text/strbuf.h"
#include "spans.h"

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
