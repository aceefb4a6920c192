/* SPDX-License-Identifier: Apache-2.0 */
/* fake_streams.c: work that stands on streams, and what runs it when somebody waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "fake_cuda.h"

enum { DEADLINE = 20 }; /* seconds */

static fake_stream *streams;

fake_stream *fake_streams(void)
{
    return streams;
}

static fake_stream *new_stream(int card)
{
    fake_stream *s = calloc(1, sizeof(*s));
    if (!s) abort(); /* a test cannot go on */
    *s = (fake_stream){.alive = true, .card = card, .next = streams};
    s->last = &s->first;
    streams = s;
    return s;
}

fake_stream *fake_stream_of(void *handle, const char *call)
{
    static fake_stream *inner[FAKE_MAX_CARDS];
    if ((uintptr_t)handle <= 2) {
        const int card = fake_current_card();
        if (!inner[card]) {
            inner[card] = new_stream(card);
            inner[card]->inner = true;
        }
        return inner[card];
    }
    for (fake_stream *s = streams; s; s = s->next) {
        if (s != handle) continue;
        if (s->alive) return s;
        fake_report("%s: the stream %p has been destroyed", call, handle);
        return NULL;
    }
    fake_report("%s: %p is no stream", call, handle);
    return NULL;
}

/* ---- operations ---- */

size_t fake_op_args(const fake_op *op)
{
    return op->kind == FAKE_OP_LAUNCH ? op->launch.f->param_bytes : op->kind == FAKE_OP_HOST ? op->nbytes : 0;
}

fake_op *fake_copy_op(const fake_op *op, size_t arg_bytes)
{
    fake_op *copy = malloc(sizeof(*copy));
    uint8_t *args = malloc(arg_bytes + 16);
    if (!copy || !args) abort(); /* a test cannot go on */
    *copy = *op;
    copy->next = NULL;
    copy->args = args;
    if (arg_bytes) memcpy(args, op->args, arg_bytes);
    copy->launch.params = args;
    return copy;
}

void fake_free_op(fake_op *op)
{
    free(op->args);
    free(op);
}

void fake_append(fake_op ***last, fake_op *op)
{
    **last = op;
    *last = &op->next;
}

static void do_copy(const fake_op *op)
{
    uint8_t *from = fake_range(op->from, op->nbytes, false, true, "a copy, its source");
    uint8_t *to = fake_range(op->to, op->nbytes, true, true, "a copy, its target");
    if (from && to && op->nbytes) memmove(to, from, op->nbytes);
}

static void do_set(const fake_op *op)
{
    uint8_t *to = fake_range(op->to, op->nbytes, true, false, "a fill");
    if (!to) return;
    if (op->unit == 1) {
        memset(to, (int)op->value, op->nbytes);
        return;
    }
    for (size_t n = 0; n < op->nbytes; n += 4) memcpy(to + n, &op->value, 4);
}

static bool value_is_there(const fake_op *op)
{
    const uint32_t *at = (const uint32_t *)(void *)fake_range(op->to, 4, false, false, "cuStreamWaitValue32");
    if (!at) return true;
    const uint32_t now = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    switch (op->unit & 3) {
    case 0: return (int32_t)(now - op->value) >= 0;
    case 1: return now == op->value;
    case 2: return (now & op->value) != 0;
    default: return ~(now | op->value) != 0;
    }
}

static void do_launch(fake_op *op)
{
    const fake_module *m = op->launch.f->module;
    if (!m->alive) {
        fake_report("%s runs, of a module that has been unloaded", op->launch.f->name);
        return;
    }
    ptx_launch_run(&op->launch);
}

static void say(const fake_op *op)
{
    static const char *names[] = {"copy",   "fill", "launch",           "host function",
                                  "record", "wait", "wait for a value", "write a value"};
    if (!fake_setting("TUTTI_FAKE_CUDA_TRACE", 0)) return;
    fprintf(stderr, "fake cuda runs: %s %s to 0x%llx from 0x%llx, %zu bytes\n", names[op->kind],
            op->kind == FAKE_OP_LAUNCH ? op->launch.f->name : "", (unsigned long long)op->to,
            (unsigned long long)op->from, op->nbytes);
}

/* Does the operation; false: the operation must wait. */
static bool do_op(fake_op *op)
{
    if (op->kind == FAKE_OP_WAIT && op->event->done < op->ticket) return false;
    if (op->kind == FAKE_OP_WAIT_VALUE && !value_is_there(op)) return false;
    say(op);
    switch (op->kind) {
    case FAKE_OP_COPY: do_copy(op); break;
    case FAKE_OP_SET: do_set(op); break;
    case FAKE_OP_LAUNCH: do_launch(op); break;
    case FAKE_OP_HOST:
        fake_open_memory(true);
        op->work(op->args);
        break;
    case FAKE_OP_RECORD:
        op->event->done = op->ticket;
        op->event->time = fake_now();
        break;
    case FAKE_OP_WRITE_VALUE: {
        uint32_t *at = (uint32_t *)(void *)fake_range(op->to, 4, true, false, "cuStreamWriteValue32");
        if (at) __atomic_store_n(at, op->value, __ATOMIC_RELEASE);
        break;
    }
    default: break;
    }
    return true;
}

/* ---- running ---- */

/* Runs one operation of this stream, or of one that this stream waits for; false: none could run. */
static bool step(fake_stream *s)
{
    fake_op *op = s->first;
    if (!op || s->stepping) return false;
    s->stepping = true;
    bool done = do_op(op), moved = done;
    if (!done && op->kind == FAKE_OP_WAIT && op->event->stream) moved = step(op->event->stream);
    s->stepping = false;
    if (!done) return moved;
    s->first = op->next;
    if (!s->first) s->last = &s->first;
    fake_free_op(op);
    return true;
}

/* Runs one operation of each other stream, for one that cannot go on. */
static bool step_others(const fake_stream *s)
{
    bool moved = false;
    for (fake_stream *t = streams; t; t = t->next)
        if (t != s && t->first) moved |= step(t);
    return moved;
}

bool fake_run_stream(fake_stream *s, int at_most)
{
    return fake_run_until(s, at_most, NULL, 0);
}

bool fake_run_until(fake_stream *s, int at_most, const fake_event *e, uint64_t ticket)
{
    double since = fake_now();
    for (int done = 0; s->first && !(e && e->done >= ticket); done++) {
        if (at_most && done >= at_most) return false;
        if (step(s) || (!at_most && step_others(s))) {
            since = fake_now();
            continue;
        }
        if (at_most) return false;
        if (fake_now() - since > DEADLINE) {
            const fake_op *op = s->first;
            fake_report("a stream has waited for more than %d s %s 0x%llx", DEADLINE,
                        op && op->kind == FAKE_OP_WAIT_VALUE ? "for the value at"
                                                             : "for an event that is not recorded; operation at",
                        (unsigned long long)(op ? op->to : 0));
            if (op) s->first->kind = FAKE_OP_SET, s->first->nbytes = 0; /* goes on without it */
            continue;
        }
        fake_pause();
    }
    return true;
}

void fake_run_all(int card)
{
    for (fake_stream *s = streams; s; s = s->next)
        if (card < 0 || s->card == card) fake_run_stream(s, 0);
}

int fake_enqueue(fake_stream *s, const fake_op *op, size_t arg_bytes)
{
    if (s->invalidated) return FAKE_CAPTURE_INVALIDATED;
    fake_op *copy = fake_copy_op(op, arg_bytes);
    if (s->capture) {
        fake_append(&s->capture->last, copy);
        s->position++;
    } else {
        fake_append(&s->last, copy);
    }
    return FAKE_OK;
}

bool fake_capturing(bool strict)
{
    for (const fake_stream *s = streams; s; s = s->next)
        if (s->capture && s->origin && (!strict || s->mode != 2)) return true;
    return false;
}

FAKE_EXPORT int tutti_fake_cuda_enqueue(void *stream, void (*work)(void *args), const void *args, size_t nbytes)
{
    FAKE_CALL();
    fake_stream *s = fake_stream_of(stream, __func__);
    if (!s) return FAKE_INVALID_HANDLE;
    const fake_op op = {.kind = FAKE_OP_HOST, .work = work, .args = (uint8_t *)(uintptr_t)args, .nbytes = nbytes};
    return fake_enqueue(s, &op, nbytes);
}

FAKE_EXPORT int tutti_fake_cuda_touch(const void *at, size_t nbytes, int writes)
{
    FAKE_CALL_ANYWHERE();
    return fake_range((uint64_t)(uintptr_t)at, nbytes, writes != 0, false, "a library's access") ? FAKE_OK
                                                                                                 : FAKE_INVALID_VALUE;
}

/* ---- streams' calls ---- */

FAKE_EXPORT int cuStreamCreate(void **out, unsigned flags)
{
    (void)flags;
    FAKE_CALL();
    *out = new_stream(fake_current_card());
    return FAKE_OK;
}

FAKE_EXPORT int cuStreamDestroy_v2(void *handle)
{
    FAKE_CALL();
    fake_stream *s = fake_stream_of(handle, "cuStreamDestroy");
    if (!s || s->inner) return FAKE_INVALID_HANDLE;
    s->capture = NULL;
    fake_run_stream(s, 0);
    s->alive = false;
    return FAKE_OK;
}

/* A call that may not be made while a stream is captured ends the capture. */
static int refuse_capture(fake_stream *s)
{
    if (!s->capture && !s->invalidated) return FAKE_OK;
    s->invalidated = true;
    return FAKE_CAPTURE_UNSUPPORTED;
}

FAKE_EXPORT int cuStreamSynchronize(void *handle)
{
    FAKE_CALL();
    fake_stream *s = fake_stream_of(handle, __func__);
    if (!s) return FAKE_INVALID_HANDLE;
    if (refuse_capture(s)) return FAKE_CAPTURE_UNSUPPORTED;
    fake_run_stream(s, 0);
    return FAKE_OK;
}

FAKE_EXPORT int cuStreamQuery(void *handle)
{
    FAKE_CALL();
    fake_stream *s = fake_stream_of(handle, __func__);
    if (!s) return FAKE_INVALID_HANDLE;
    if (refuse_capture(s)) return FAKE_CAPTURE_UNSUPPORTED;
    const bool done = !s->first;
    if (!done) fake_run_stream(s, 1);
    return done ? FAKE_OK : FAKE_NOT_READY;
}

static int value_op(void *handle, const fake_op *op, const char *call)
{
    fake_stream *s = fake_stream_of(handle, call);
    if (!s) return FAKE_INVALID_HANDLE;
    if (op->to % 4) return FAKE_INVALID_VALUE;
    return fake_enqueue(s, op, 0);
}

FAKE_EXPORT int cuStreamWaitValue32_v2(void *stream, uint64_t address, uint32_t value, unsigned flags)
{
    FAKE_CALL();
    return value_op(stream, &(fake_op){.kind = FAKE_OP_WAIT_VALUE, .to = address, .value = value, .unit = flags},
                    "cuStreamWaitValue32");
}

FAKE_EXPORT int cuStreamWriteValue32_v2(void *stream, uint64_t address, uint32_t value, unsigned flags)
{
    (void)flags;
    FAKE_CALL();
    return value_op(stream, &(fake_op){.kind = FAKE_OP_WRITE_VALUE, .to = address, .value = value},
                    "cuStreamWriteValue32");
}
