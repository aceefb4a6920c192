/* SPDX-License-Identifier: Apache-2.0 */
/* apart_device.h: a row whose memory the host cannot follow, as a card's: its pages are closed to all loads and stores
 * but while one of its own calls runs, and what is launched runs when somebody waits for it, not before. So a loop of
 * the host that goes around the room dies where it does, and who forgets to wait reads what was there before.
 *
 * Ranks that are threads share addresses: one apart_memory for all of them, a device with a queue of its own for
 * each. */
#ifndef TUTTI_APART_DEVICE_H
#define TUTTI_APART_DEVICE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "device/device_row.h"

enum { APART_RANGES = 512, APART_PAGE = 4096 };

typedef struct {
    char *base;
    size_t nbytes;
    int nusers;    /* devices that know it */
    bool host_too; /* open to all */
} apart_range;

typedef struct {
    pthread_mutex_t lock;
    apart_range ranges[APART_RANGES];
    int n, nopen; /* calls that run */
} apart_memory;

typedef struct apart_work {
    struct apart_work *next;
    const tutti_queue_work *work;
    void *args;
} apart_work;

typedef struct {
    apart_memory *memory;
    pthread_mutex_t lock;
    apart_work *head, **tail;
    uint64_t nlaunched, ndone, most_waiting;
} apart_queue;

typedef struct {
    tutti_device row; /* first */
    apart_queue *queue;
} apart_device;

static apart_queue *apart_queue_of(const tutti_device *d)
{
    return ((const apart_device *)(const void *)d)->queue;
}

/* ---- pages ---- */

static void apart_protect(const apart_range *r, bool open)
{
    if (r->host_too) return;
    if (mprotect(r->base, r->nbytes, open ? PROT_READ | PROT_WRITE : PROT_NONE)) perror("mprotect"), abort();
}

static void apart_open(const tutti_device *d)
{
    apart_memory *m = apart_queue_of(d)->memory;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < m->n && !m->nopen; i++) apart_protect(&m->ranges[i], true);
    m->nopen++;
    pthread_mutex_unlock(&m->lock);
}

static void apart_close(const tutti_device *d)
{
    apart_memory *m = apart_queue_of(d)->memory;
    pthread_mutex_lock(&m->lock);
    m->nopen--;
    for (int i = 0; i < m->n && !m->nopen; i++) apart_protect(&m->ranges[i], false);
    pthread_mutex_unlock(&m->lock);
}

static tutti_status apart_enrol(const tutti_device *d, void *at, size_t nbytes, bool host_too, tutti_failure *err)
{
    apart_memory *m = apart_queue_of(d)->memory;
    int i = 0;
    pthread_mutex_lock(&m->lock);
    while (i < m->n && m->ranges[i].base != at) i++;
    if (i == m->n && m->n++ < APART_RANGES) m->ranges[i] = (apart_range){at, nbytes, 0, host_too};
    if (i < APART_RANGES && !m->ranges[i].nusers++ && !m->nopen) apart_protect(&m->ranges[i], false);
    pthread_mutex_unlock(&m->lock);
    return i < APART_RANGES ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_FAILED, "more than %d ranges", APART_RANGES);
}

static void apart_forget(const tutti_device *d, void *at, size_t nbytes)
{
    apart_memory *m = apart_queue_of(d)->memory;
    int i = 0;
    pthread_mutex_lock(&m->lock);
    while (i < m->n && m->ranges[i].base != at) i++;
    if (i == m->n || m->ranges[i].nbytes != nbytes) fprintf(stderr, "forgets what it never knew\n"), abort();
    if (--m->ranges[i].nusers == 0) {
        apart_protect(&m->ranges[i], true);
        m->ranges[i] = m->ranges[--m->n];
    }
    pthread_mutex_unlock(&m->lock);
}

static void *apart_allocate(const tutti_device *d, size_t nbytes)
{
    const size_t mapped = (nbytes / APART_PAGE + 1) * APART_PAGE;
    void *at = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    return apart_enrol(d, at, mapped, false, NULL) ? NULL : at;
}

static void apart_release(const tutti_device *d, void *at, size_t nbytes)
{
    const size_t mapped = (nbytes / APART_PAGE + 1) * APART_PAGE;
    if (!at) return;
    apart_forget(d, at, mapped);
    munmap(at, mapped);
}

/* A card would end the call there. */
static void apart_check(const tutti_device *d, const char *what, const void *at, size_t nbytes)
{
    apart_memory *m = apart_queue_of(d)->memory;
    bool known = false;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < m->n; i++) {
        const char *base = m->ranges[i].base;
        known |= base <= (const char *)at && (const char *)at + nbytes <= base + m->ranges[i].nbytes;
    }
    pthread_mutex_unlock(&m->lock);
    if (!known) fprintf(stderr, "%s: %zu bytes at %p are not the device's\n", what, nbytes, at), abort();
}

/* ---- loops: behind all that was launched before ---- */

static void apart_finish(const tutti_device *d);

static void apart_copy(const tutti_device *d, char *const *outputs, int nout, const char *input, size_t nbytes,
                       bool stream)
{
    for (int i = 0; i < nout; i++) apart_check(d, "copy", outputs[i], nbytes);
    apart_finish(d);
    apart_open(d);
    tutti_device_cpu()->copy(tutti_device_cpu(), outputs, nout, input, nbytes, stream);
    apart_close(d);
}

static void apart_reduce(const tutti_device *d, const tutti_device_reduction *how, const tutti_operands *of, int64_t n)
{
    const size_t in = tutti_element_bytes(how->in, how->op), out = tutti_element_bytes(how->out, how->op);
    for (int i = 0; i < of->nin; i++) apart_check(d, "reduce, input", of->inputs[i], (size_t)n * in);
    for (int i = 0; i < of->nout; i++) apart_check(d, "reduce, output", of->outputs[i], (size_t)n * out);
    apart_finish(d);
    apart_open(d);
    tutti_device_cpu()->reduce(tutti_device_cpu(), how, of, n);
    apart_close(d);
}

static void apart_average(const tutti_device *d, tutti_dtype type, char *x, int64_t n, int32_t nranks)
{
    apart_check(d, "average", x, (size_t)n * tutti_dtype_bytes(type));
    apart_finish(d);
    apart_open(d);
    tutti_device_cpu()->average(tutti_device_cpu(), type, x, n, nranks);
    apart_close(d);
}

static void apart_convert(const tutti_device *d, tutti_dtype type, const void *from, tutti_dtype to_type, void *to,
                          int64_t n)
{
    apart_check(d, "convert, input", from, (size_t)n * tutti_dtype_bytes(type));
    apart_check(d, "convert, output", to, (size_t)n * tutti_dtype_bytes(to_type));
    apart_finish(d);
    apart_open(d);
    tutti_device_cpu()->convert(tutti_device_cpu(), type, from, to_type, to, n);
    apart_close(d);
}

/* ---- work ---- */

static tutti_event apart_launch(const tutti_device *d, const tutti_queue_work *work, const void *args)
{
    apart_queue *q = apart_queue_of(d);
    apart_work *w = tutti_alloc(sizeof *w);
    *w = (apart_work){.work = work, .args = tutti_alloc(work->nbytes)};
    memcpy(w->args, args, work->nbytes);
    pthread_mutex_lock(&q->lock);
    if (!q->head) q->tail = &q->head;
    *q->tail = w;
    q->tail = &w->next;
    const tutti_event event = {++q->nlaunched};
    if (q->nlaunched - q->ndone > q->most_waiting) q->most_waiting = q->nlaunched - q->ndone;
    pthread_mutex_unlock(&q->lock);
    return event;
}

static void apart_wait(const tutti_device *d, tutti_event event)
{
    apart_queue *q = apart_queue_of(d);
    pthread_mutex_lock(&q->lock);
    if (event.number > q->nlaunched) fprintf(stderr, "waits for what was never launched\n"), abort();
    while (q->ndone < event.number) {
        apart_work *w = q->head;
        apart_open(d);
        w->work->run(d, w->args, (char *)w->args + w->work->varying_at);
        apart_close(d);
        q->head = w->next;
        q->ndone++;
        free(w->args);
        free(w);
    }
    pthread_mutex_unlock(&q->lock);
}

static void apart_finish(const tutti_device *d)
{
    apart_queue *q = apart_queue_of(d);
    pthread_mutex_lock(&q->lock);
    const tutti_event last = {q->nlaunched};
    pthread_mutex_unlock(&q->lock);
    apart_wait(d, last);
}

static tutti_status apart_check_failed(const tutti_device *d, tutti_failure *err)
{
    (void)d, (void)err;
    return TUTTI_OK;
}

/* ---- what the host sees ---- */

static void apart_look(const tutti_device *d, void *to, const void *from, size_t nbytes)
{
    apart_check(d, "look", from, nbytes);
    apart_open(d);
    memcpy(to, from, nbytes);
    apart_close(d);
}

static void *apart_borrow(const tutti_device *d, const void *at, size_t nbytes)
{
    void *copy = tutti_alloc(nbytes);
    apart_look(d, copy, at, nbytes);
    return copy;
}

static void apart_give_back(const tutti_device *d, const void *at, void *borrowed, size_t nbytes, bool changed)
{
    apart_check(d, "give back", at, nbytes);
    apart_open(d);
    if (changed) memcpy((void *)(uintptr_t)at, borrowed, nbytes);
    apart_close(d);
    free(borrowed);
}

/* ---- life ---- */

static void apart_make(apart_memory *memory, apart_queue *queue, apart_device *out)
{
    *queue = (apart_queue){.memory = memory};
    pthread_mutex_init(&queue->lock, NULL);
    *out = (apart_device){{.name = "apart",
                           .allocate = apart_allocate,
                           .release = apart_release,
                           .enrol = apart_enrol,
                           .forget = apart_forget,
                           .copy = apart_copy,
                           .reduce = apart_reduce,
                           .average = apart_average,
                           .convert = apart_convert,
                           .launch = apart_launch,
                           .wait = apart_wait,
                           .finish = apart_finish,
                           .check = apart_check_failed,
                           .look = apart_look,
                           .borrow = apart_borrow,
                           .give_back = apart_give_back},
                          queue};
}

#endif
