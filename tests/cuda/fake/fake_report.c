/* SPDX-License-Identifier: Apache-2.0 */
/* fake_report.c: settings, reports, failures on demand, and what is left at the end. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"
#include "fake_cuda.h"

enum { FATAL_CODE = 97, MAX_NAMES = 96 };

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int reports, depth; /* calls that hold the lock: a host function may make some */
static struct {
    const char *name;
    int calls;
} counted[MAX_NAMES];

int fake_setting(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value && *value ? (int)strtol(value, NULL, 10) : otherwise;
}

void fake_report(const char *format, ...)
{
    char line[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fprintf(stderr, "fake cuda: %s\n", line);
    fflush(stderr);
    reports++;
    if (fake_setting("TUTTI_FAKE_CUDA_FATAL", 1)) _exit(FATAL_CODE);
}

FAKE_EXPORT int tutti_fake_cuda_reports(void)
{
    return reports;
}

static int calls_of(const char *name)
{
    for (int n = 0; n < MAX_NAMES; n++) {
        if (!counted[n].name) counted[n].name = name;
        if (!strcmp(counted[n].name, name)) return ++counted[n].calls;
    }
    return 0;
}

/* TUTTI_FAKE_CUDA_FAIL="NAME:N[:CODE][,NAME:N[:CODE]...]" */
static int failure_of(const char *name)
{
    const char *wanted = getenv("TUTTI_FAKE_CUDA_FAIL");
    if (!wanted || !*wanted) return FAKE_OK;
    const int call = calls_of(name);
    const size_t length = strlen(name);
    for (const char *s = wanted; s; s = strchr(s, ',')) {
        if (*s == ',') s++;
        if (strncmp(s, name, length) || s[length] != ':') continue;
        char *end;
        const long at = strtol(s + length + 1, &end, 10);
        if (at == call) return *end == ':' ? (int)strtol(end + 1, NULL, 10) : FAKE_OUT_OF_MEMORY;
    }
    return FAKE_OK;
}

fake_guard fake_enter(const char *name, bool context)
{
    pthread_mutex_lock(&lock);
    depth++;
    int code = failure_of(name);
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

/* What nobody gave back, once the contexts have been released. */
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
