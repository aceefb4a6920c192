/* SPDX-License-Identifier: Apache-2.0 */
/* fake_graphs.c: events, capture, graphs. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static fake_event *events;
static fake_graph *graphs;

fake_event *fake_events(void)
{
    return events;
}
fake_graph *fake_graphs(void)
{
    return graphs;
}

fake_event *fake_event_of(void *handle, const char *call)
{
    for (fake_event *e = events; e; e = e->next) {
        if (e != handle) continue;
        if (e->alive) return e;
        fake_report("%s: the event %p has been destroyed", call, handle);
        return NULL;
    }
    fake_report("%s: %p is no event", call, handle);
    return NULL;
}

static fake_graph *graph_of(void *handle, bool instance, const char *call)
{
    for (fake_graph *g = graphs; g; g = g->next) {
        if (g != handle || g->instance != instance) continue;
        if (g->alive) return g;
        fake_report("%s: the graph %p has been destroyed", call, handle);
        return NULL;
    }
    fake_report("%s: %p is no graph%s", call, handle, instance ? " that can be launched" : "");
    return NULL;
}

/* ---- events ---- */

FAKE_EXPORT int cuEventCreate(void **out, unsigned flags)
{
    FAKE_CALL();
    fake_event *e = calloc(1, sizeof(*e));
    if (!e) return FAKE_OUT_OF_MEMORY;
    *e = (fake_event){.alive = true, .timing = !(flags & 2), .next = events};
    events = e;
    *out = e;
    return FAKE_OK;
}

FAKE_EXPORT int cuEventDestroy_v2(void *event)
{
    FAKE_CALL();
    fake_event *e = fake_event_of(event, "cuEventDestroy");
    if (!e) return FAKE_INVALID_HANDLE;
    e->alive = false;
    return FAKE_OK;
}

FAKE_EXPORT int cuEventRecord(void *event, void *stream)
{
    FAKE_CALL();
    fake_event *e = fake_event_of(event, __func__);
    fake_stream *s = e ? fake_stream_of(stream, __func__) : NULL;
    if (!s) return FAKE_INVALID_HANDLE;
    e->stream = s;
    e->capture = s->capture;
    e->position = s->position;
    if (s->capture) return s->invalidated ? FAKE_CAPTURE_INVALIDATED : FAKE_OK;
    e->recorded++;
    return fake_enqueue(s, &(fake_op){.kind = FAKE_OP_RECORD, .event = e, .ticket = e->recorded}, 0);
}

/* A stream that waits for what a capture does is captured with it. */
static int join(fake_stream *s, fake_event *e)
{
    if (!e->capture->alive || !e->stream->capture) return FAKE_CAPTURED_EVENT;
    if (s->capture && s->capture != e->capture) return FAKE_CAPTURE_MERGE;
    if (!s->capture) {
        s->capture = e->capture;
        s->origin = s->invalidated = false;
        s->position = s->joined = 0;
    }
    if (e->stream != s && e->position > e->stream->joined) e->stream->joined = e->position;
    return FAKE_OK;
}

FAKE_EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)flags;
    FAKE_CALL();
    fake_event *e = fake_event_of(event, __func__);
    fake_stream *s = e ? fake_stream_of(stream, __func__) : NULL;
    if (!s) return FAKE_INVALID_HANDLE;
    if (e->capture) return join(s, e);
    if (s->capture) {
        s->invalidated = true;
        return 905; /* CUDA_ERROR_STREAM_CAPTURE_ISOLATION */
    }
    return fake_enqueue(s, &(fake_op){.kind = FAKE_OP_WAIT, .event = e, .ticket = e->recorded}, 0);
}

static bool finished(const fake_event *e)
{
    return e->done >= e->recorded;
}

FAKE_EXPORT int cuEventSynchronize(void *event)
{
    FAKE_CALL();
    fake_event *e = fake_event_of(event, __func__);
    if (!e) return FAKE_INVALID_HANDLE;
    if (e->capture) return FAKE_CAPTURED_EVENT;
    if (e->stream) fake_run_until(e->stream, 0, e, e->recorded);
    return FAKE_OK;
}

FAKE_EXPORT int cuEventQuery(void *event)
{
    FAKE_CALL();
    fake_event *e = fake_event_of(event, __func__);
    if (!e) return FAKE_INVALID_HANDLE;
    if (e->capture) return FAKE_CAPTURED_EVENT;
    if (finished(e)) return FAKE_OK;
    fake_run_stream(e->stream, 1);
    return FAKE_NOT_READY;
}

static int elapsed(float *ms, void *start, void *end)
{
    const fake_event *a = fake_event_of(start, "cuEventElapsedTime"),
                     *b = a ? fake_event_of(end, "cuEventElapsedTime") : NULL;
    if (!b || !a->timing || !b->timing || !a->recorded || !b->recorded) return FAKE_INVALID_HANDLE;
    if (!finished(a) || !finished(b)) return FAKE_NOT_READY;
    *ms = (float)((b->time - a->time) * 1e3);
    return FAKE_OK;
}

FAKE_EXPORT int cuEventElapsedTime(float *ms, void *start, void *end)
{
    FAKE_CALL();
    return elapsed(ms, start, end);
}

FAKE_EXPORT int cuEventElapsedTime_v2(float *ms, void *start, void *end)
{
    FAKE_CALL();
    return elapsed(ms, start, end);
}

/* ---- capture ---- */

static fake_graph *new_graph(bool instance)
{
    fake_graph *g = calloc(1, sizeof(*g));
    if (!g) abort(); /* a test cannot go on */
    *g = (fake_graph){.instance = instance, .next = graphs};
    g->last = &g->first;
    graphs = g;
    return g;
}

FAKE_EXPORT int cuStreamBeginCapture_v2(void *stream, int mode)
{
    FAKE_CALL();
    fake_stream *s = fake_stream_of(stream, "cuStreamBeginCapture");
    if (!s) return FAKE_INVALID_HANDLE;
    if (s->inner) return FAKE_CAPTURE_UNSUPPORTED;
    if (s->capture) return FAKE_INVALID_VALUE;
    s->capture = new_graph(false);
    s->capture->alive = true;
    s->origin = true;
    s->invalidated = false;
    s->mode = mode;
    s->position = s->joined = 0;
    return FAKE_OK;
}

/* Says whether other streams did something for the capture that nobody waits for, and takes them out of it. */
static bool unjoined(const fake_graph *g)
{
    bool left = false;
    for (fake_stream *s = fake_streams(); s; s = s->next) {
        if (s->capture != g || s->origin) continue;
        left |= s->joined < s->position;
        s->capture = NULL;
    }
    return left;
}

static void empty(fake_graph *g)
{
    for (fake_op *op = g->first, *next; op; op = next) {
        next = op->next;
        fake_free_op(op);
    }
    g->first = NULL;
    g->last = &g->first;
}

FAKE_EXPORT int cuStreamEndCapture(void *stream, void **out)
{
    FAKE_CALL();
    fake_stream *s = fake_stream_of(stream, __func__);
    *out = NULL;
    if (!s) return FAKE_INVALID_HANDLE;
    if (!s->capture || !s->origin) return FAKE_CAPTURE_UNMATCHED;
    fake_graph *g = s->capture;
    const bool bad = s->invalidated, left = unjoined(g);
    s->capture = NULL;
    s->origin = s->invalidated = false;
    if (bad || left) {
        g->alive = false;
        empty(g);
        return bad ? FAKE_CAPTURE_INVALIDATED : FAKE_CAPTURE_UNJOINED;
    }
    *out = g;
    return FAKE_OK;
}

FAKE_EXPORT int cuStreamIsCapturing(void *stream, int *status)
{
    FAKE_CALL();
    fake_stream *s = fake_stream_of(stream, __func__);
    if (!s) return FAKE_INVALID_HANDLE;
    *status = !s->capture ? 0 : s->invalidated ? 2 : 1;
    return FAKE_OK;
}

/* ---- graphs ---- */

FAKE_EXPORT int cuGraphInstantiateWithFlags(void **out, void *graph, uint64_t flags)
{
    (void)flags;
    FAKE_CALL();
    const fake_graph *g = graph_of(graph, false, "cuGraphInstantiate");
    if (!g) return FAKE_INVALID_HANDLE;
    fake_graph *copy = new_graph(true);
    copy->alive = true;
    for (const fake_op *op = g->first; op; op = op->next) fake_append(&copy->last, fake_copy_op(op, fake_op_args(op)));
    *out = copy;
    return FAKE_OK;
}

FAKE_EXPORT int cuGraphLaunch(void *instance, void *stream)
{
    FAKE_CALL();
    const fake_graph *g = graph_of(instance, true, __func__);
    fake_stream *s = g ? fake_stream_of(stream, __func__) : NULL;
    if (!s) return FAKE_INVALID_HANDLE;
    for (const fake_op *op = g->first; op; op = op->next) {
        const int code = fake_enqueue(s, op, fake_op_args(op));
        if (code) return code;
    }
    return FAKE_OK;
}

static int destroy(void *handle, bool instance, const char *call)
{
    fake_graph *g = graph_of(handle, instance, call);
    if (!g) return FAKE_INVALID_HANDLE;
    g->alive = false;
    empty(g);
    return FAKE_OK;
}

FAKE_EXPORT int cuGraphExecDestroy(void *instance)
{
    FAKE_CALL();
    return destroy(instance, true, __func__);
}

FAKE_EXPORT int cuGraphDestroy(void *graph)
{
    FAKE_CALL();
    return destroy(graph, false, __func__);
}

FAKE_EXPORT int cuGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    FAKE_CALL();
    const fake_graph *g = graph_of(graph, false, __func__);
    if (!g) return FAKE_INVALID_HANDLE;
    size_t n = 0;
    for (fake_op *op = g->first; op; op = op->next, n++)
        if (nodes && n < *count) nodes[n] = op;
    if (nodes && *count < n) return FAKE_OK;
    *count = n;
    return FAKE_OK;
}
