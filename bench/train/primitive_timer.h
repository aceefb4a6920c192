/* SPDX-License-Identifier: Apache-2.0 */
/* primitive_timer.h: times oneDNN primitives alone: on buffers of their own, in the memory orders that they ask for.
 * Stops the program with words on stderr where the library fails. Threads: one at a time. */
#ifndef TUTTI_PRIMITIVE_TIMER_H
#define TUTTI_PRIMITIVE_TIMER_H

#include <oneapi/dnnl/dnnl.h>

enum { TIMER_MAX_KNOWN = 1024, TIMER_MAX_KEY = 480, TIMER_MAX_SOURCES = 16 };

typedef struct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int repeats;
    struct {
        char key[TIMER_MAX_KEY]; /* what says that two primitives are equal */
        double ms;
    } known[TIMER_MAX_KNOWN];
    int nknown;
} primitive_timer;

#define TRY(call) primitive_timer_must((call), #call)
void primitive_timer_must(dnnl_status_t status, const char *call);

void primitive_timer_open(primitive_timer *t, int repeats);
/* Median milliseconds of a run of the primitive of `taken`, which is destroyed here. Equal primitives are timed
 * once. */
double primitive_timer_ms(primitive_timer *t, dnnl_primitive_desc_t taken);

#endif
