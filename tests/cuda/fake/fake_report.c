/* SPDX-License-Identifier: Apache-2.0 */
/* fake_report.c: reports, the lock of calls, and what is left at the end. */
#include <pthread.h>
#include <stdarg.h>
#include <time.h>

#include "fake.h"
#include "fake_cuda.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int reports, depth; /* calls that hold the lock: a host function may make some */

void fake_report(const char *format, ...)
{
    va_list args;
    reports++;
    va_start(args, format);
    fake_say("cuda", format, args);
    va_end(args);
}

FAKE_EXPORT int tutti_fake_cuda_reports(void)
{
    return reports;
}

fake_guard fake_enter(const char *name, bool context)
{
    pthread_mutex_lock(&lock);
    depth++;
    int code = fake_failure_of(name, FAKE_OUT_OF_MEMORY);
    if (!code && context && fake_current_card() < 0) code = FAKE_INVALID_CONTEXT;
    return (fake_guard){code};
}

void fake_leave(fake_guard *g)
{
    (void)g;
    if (--depth == 0) fake_open_memory(false);
    pthread_mutex_unlock(&lock);
}

void fake_pause(void)
{
    const int held = depth; /* one: whoever waits is not called by a host function */
    fake_open_memory(false);
    depth = 0;
    pthread_mutex_unlock(&lock);
    const struct timespec moment = {0, 50000};
    nanosleep(&moment, NULL);
    pthread_mutex_lock(&lock);
    depth = held;
}

double fake_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Reports what nobody gave back, once the contexts have been released. */
__attribute__((destructor)) static void say_leaks(void)
{
    if (!fake_released()) return;
    int streams = 0, events = 0, graphs = 0, blocks = 0;
    fake_block *one = NULL;
    for (fake_stream *s = fake_streams(); s; s = s->next) streams += s->alive && !s->inner;
    for (fake_event *e = fake_events(); e; e = e->next) events += e->alive;
    for (fake_graph *g = fake_graphs(); g; g = g->next) graphs += g->alive;
    for (fake_block *b = fake_blocks(); b; b = b->next) {
        if (b->freed || b->inner) continue;
        blocks++;
        one = b;
    }
    if (one)
        fake_report("leak: %d allocations, one of %zu bytes at 0x%llx", blocks, one->nbytes,
                    (unsigned long long)one->at);
    if (streams) fake_report("leak: %d streams", streams);
    if (events) fake_report("leak: %d events", events);
    if (graphs) fake_report("leak: %d graphs", graphs);
    if (fake_modules_left()) fake_report("leak: %d modules", fake_modules_left());
    if (fake_host_left(true)) fake_report("leak: %d pinned host allocations", fake_host_left(true));
    if (fake_host_left(false)) fake_report("leak: %d registered host ranges", fake_host_left(false));
}
