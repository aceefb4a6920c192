/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.c: allocates memory of a card, registers host memory, and copies between both.
 *
 * Host and card share one space of addresses, in which each address belongs to one of them. So the host may add to and
 * compare addresses of the card. A table of ranges lists the addresses that a copy may hand to the driver as they are.
 * All other addresses are plain host memory, which is copied through our own pinned memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_impl.h"

static tutti_cu_at at_of(const void *p)
{
    return (tutti_cu_at)(uintptr_t)p;
}

static void add_range(tutti_cuda *c, tutti_cuda_range range)
{
    if (c->nranges == c->most_ranges) {
        c->most_ranges = c->most_ranges ? 2 * c->most_ranges : 32;
        c->ranges = tutti_realloc(c->ranges, sizeof *c->ranges * (size_t)c->most_ranges);
    }
    c->ranges[c->nranges++] = range;
}

const tutti_cuda_range *tutti_cuda_range_of(const tutti_cuda *c, const void *at)
{
    for (int i = 0; i < c->nranges; i++)
        if (c->ranges[i].base <= (const char *)at && (const char *)at < c->ranges[i].base + c->ranges[i].nbytes)
            return &c->ranges[i];
    return NULL;
}

/* Removes the range that begins at `at` from the table and writes it to *out. Returns false if there is no such
 * range. */
static bool take_range(tutti_cuda *c, const void *at, tutti_cuda_range *out)
{
    for (int i = 0; i < c->nranges; i++) {
        if (c->ranges[i].base != at) continue;
        *out = c->ranges[i];
        c->ranges[i] = c->ranges[--c->nranges];
        return true;
    }
    return false;
}

/* ---- allocating memory of the card ---- */

static void *allocate(const tutti_device *d, size_t nbytes)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    const size_t bytes = nbytes ? nbytes : 1;
    tutti_cu_at at = 0;
    const tutti_cu_result result = c->driver.cuMemAlloc_v2(&at, bytes);
    if (result == 0) {
        add_range(c, (tutti_cuda_range){.base = (char *)(uintptr_t)at, .nbytes = bytes});
        TUTTI_CUDA(c, cuMemsetD8Async, at, 0, bytes, c->stream);
        c->seen_at = NULL;
    } else {
        errno = ENOMEM;
    }
    tutti_cuda_end(c);
    return (void *)(uintptr_t)at;
}

static void release(const tutti_device *d, void *at, size_t nbytes)
{
    (void)nbytes;
    if (!at) return;
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_range range;
    tutti_cuda_sync(c);
    tutti_cuda_forget_recorded(c);
    c->seen_at = NULL;
    if (take_range(c, at, &range)) TUTTI_CUDA(c, cuMemFree_v2, at_of(at));
    tutti_cuda_end(c);
}

/* ---- sharing the card's memory with other processes ---- */

static tutti_status fail_call(const tutti_cuda *c, const char *what, tutti_cu_result result, tutti_failure *err)
{
    char words[160];
    tutti_cuda_words(&c->driver, result, words);
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s: %s", c->card.name, what, words);
}

static tutti_status show(const tutti_device *d, const void *at, char handle[TUTTI_DEVICE_HANDLE], tutti_failure *err)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cu_ipc_handle made;
    tutti_cuda_sync(c); /* waits, so that the zeros are written before a peer reads the memory */
    const tutti_cu_result result = c->driver.cuIpcGetMemHandle(&made, at_of(at));
    tutti_cuda_end(c);
    memcpy(handle, &made, sizeof made);
    return result ? fail_call(c, "memory cannot be shown to other processes", result, err) : TUTTI_OK;
}

static tutti_status open_shown(const tutti_device *d, const char handle[TUTTI_DEVICE_HANDLE], size_t nbytes, void **at,
                               tutti_failure *err)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cu_ipc_handle shown;
    tutti_cu_at opened = 0;
    memcpy(&shown, handle, sizeof shown);
    const tutti_cu_result result = c->driver.cuIpcOpenMemHandle_v2(&opened, shown, TUTTI_CU_IPC_LAZY);
    *at = (void *)(uintptr_t)opened;
    if (!result) add_range(c, (tutti_cuda_range){.base = *at, .nbytes = nbytes, .is_opened = true});
    tutti_cuda_end(c);
    return result ? fail_call(c, "memory of another process cannot be opened", result, err) : TUTTI_OK;
}

static void close_shown(const tutti_device *d, void *at)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_range range;
    tutti_cuda_sync(c);
    if (take_range(c, at, &range)) TUTTI_CUDA(c, cuIpcCloseMemHandle, at_of(at));
    tutti_cuda_end(c);
}

/* ---- registering the host's memory ---- */

/* Registers host memory with the driver. Memory of the device itself, such as memory of a peer that was opened here,
 * needs no registration. */
static tutti_status enrol(const tutti_device *d, void *at, size_t nbytes, bool host_too, tutti_failure *err)
{
    (void)host_too;
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_status st = TUTTI_OK;
    if (!tutti_cuda_range_of(c, at)) {
        const tutti_cu_result result = c->driver.cuMemHostRegister_v2(at, nbytes, TUTTI_CU_REGISTER_PORTABLE_MAPPED);
        const bool is_alien = result == TUTTI_CU_HOST_MEMORY_ALREADY_REGISTERED;
        char words[160];
        if (result && !is_alien) {
            tutti_cuda_words(&c->driver, result, words);
            st = tutti_fail(err, TUTTI_ERR_FAILED, "the card cannot reach %zu bytes of host memory: %s", nbytes, words);
        } else {
            add_range(c, (tutti_cuda_range){.base = at, .nbytes = nbytes, .is_host = true, .is_alien = is_alien});
        }
    }
    tutti_cuda_end(c);
    return st;
}

static void unregister(tutti_cuda *c, const tutti_cuda_range *range)
{
    if (range->is_host && !range->is_alien) TUTTI_CUDA(c, cuMemHostUnregister, range->base);
}

static void forget(const tutti_device *d, void *at, size_t nbytes)
{
    (void)nbytes;
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_range range;
    const tutti_cuda_range *there = tutti_cuda_range_of(c, at);
    tutti_cuda_sync(c);
    if (there && there->is_host && take_range(c, at, &range)) unregister(c, &range);
    tutti_cuda_end(c);
}

void tutti_cuda_release_ranges(tutti_cuda *c)
{
    while (c->nranges > 0) {
        const tutti_cuda_range *range = &c->ranges[--c->nranges];
        if (range->is_host)
            unregister(c, range);
        else if (range->is_opened)
            c->driver.cuIpcCloseMemHandle(at_of(range->base));
        else
            c->driver.cuMemFree_v2(at_of(range->base));
    }
}

/* ---- copies that the host waits for ---- */

/* Copies between the device and plain host memory, in pieces through pinned memory. The copy is over when it
 * returns. */
static void carry(tutti_cuda *c, char *to, const char *from, size_t nbytes, bool to_host)
{
    for (size_t at = 0; at < nbytes && !c->failure.status; at += TUTTI_CUDA_BOUNCE) {
        const size_t n = nbytes - at < TUTTI_CUDA_BOUNCE ? nbytes - at : TUTTI_CUDA_BOUNCE;
        if (!to_host) memcpy(c->bounce, from + at, n);
        if (to_host)
            TUTTI_CUDA(c, cuMemcpyDtoHAsync_v2, c->bounce, at_of(from + at), n, c->stream);
        else
            TUTTI_CUDA(c, cuMemcpyHtoDAsync_v2, at_of(to + at), c->bounce, n, c->stream);
        TUTTI_CUDA(c, cuStreamSynchronize, c->stream);
        if (to_host) memcpy(to + at, c->bounce, n);
    }
}

void tutti_cuda_carry_in(tutti_cuda *c, void *to, const void *from, size_t nbytes)
{
    tutti_cuda_flush(c);
    c->seen_at = NULL;
    carry(c, to, from, nbytes, false);
}

/* Copies the wanted numbers to the host, and their neighbours into pinned memory. Until the next work runs, calls that
 * want these neighbours need no copy from the card. That helps because a step's losses lie together. */
static void look(const tutti_device *d, void *to, const void *from, size_t nbytes)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    const tutti_cuda_range *range = tutti_cuda_range_of(c, from);
    const char *first = from;
    tutti_cuda_sync(c);
    if (range && range->is_host) {
        memcpy(to, from, nbytes);
    } else if (nbytes > TUTTI_CUDA_SEEN) {
        carry(c, to, from, nbytes, true);
    } else {
        const bool is_at_hand = c->seen_at && first >= c->seen_at && first + nbytes <= c->seen_at + c->seen_bytes;
        const size_t left = range ? (size_t)(range->base + range->nbytes - first) : nbytes;
        if (!is_at_hand) {
            c->seen_at = first;
            c->seen_bytes = left < TUTTI_CUDA_SEEN ? left : TUTTI_CUDA_SEEN;
            TUTTI_CUDA(c, cuMemcpyDtoHAsync_v2, c->seen, at_of(first), c->seen_bytes, c->stream);
            TUTTI_CUDA(c, cuStreamSynchronize, c->stream);
        }
        memcpy(to, c->seen + (first - c->seen_at), nbytes);
    }
    tutti_cuda_end(c);
}

static void *borrow(const tutti_device *d, const void *at, size_t nbytes)
{
    void *copy = tutti_alloc(nbytes ? nbytes : 1);
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_sync(c);
    carry(c, copy, at, nbytes, true);
    tutti_cuda_end(c);
    return copy;
}

static void give_back(const tutti_device *d, const void *at, void *borrowed, size_t nbytes, bool changed)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    if (changed) {
        tutti_cuda_sync(c);
        carry(c, (char *)(uintptr_t)at, borrowed, nbytes, false);
        c->seen_at = NULL;
    }
    tutti_cuda_end(c);
    free(borrowed);
}

void tutti_cuda_place_memory(tutti_device *row)
{
    row->allocate = allocate;
    row->release = release;
    row->show = show;
    row->open = open_shown;
    row->close = close_shown;
    row->enrol = enrol;
    row->forget = forget;
    row->look = look;
    row->borrow = borrow;
    row->give_back = give_back;
}

/* ---- copies and fills on the stream ---- */

void tutti_cuda_fill(tutti_cuda *c, void *at, uint8_t value, size_t nbytes)
{
    if (nbytes) TUTTI_CUDA(c, cuMemsetD8Async, at_of(at), value, nbytes, c->stream);
}

void tutti_cuda_move(tutti_cuda *c, void *to, const void *from, size_t nbytes)
{
    if (nbytes && to != from) TUTTI_CUDA(c, cuMemcpyAsync, at_of(to), at_of(from), nbytes, c->stream);
}
