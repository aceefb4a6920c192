/* SPDX-License-Identifier: Apache-2.0 */
/* device_row.h: where vectors lie and what computes on them, one row a kind: `cpu` is this host's memory and cores. Who owns vectors (a plan's
 * memories, an exchange's scratch) is given a row and does all to them by its calls; addresses are the row's, which the host may add to and
 * compare, and follow only where the row shares the host's memory.
 *
 * Memory. A row allocates, or it is shown what is there already (enrol), such as regions, which peers map too. Its calls touch nothing else,
 * but where it shares the host's memory.
 *
 * Loops. copy, reduce, convert and average are over when they return: what follows them is a word to another rank. Each is elementwise, the
 * same bits at any offset and in any cut, and the same on all rows (tensor/reduce.h and tensor/convert.h say which).
 *
 * Work. launch puts a function and its arguments on the row's queue and returns an event; what is launched runs in the order in which it was
 * launched, by whatever thread, and is over when its event was waited for. Nothing else waits for it: who wants its results for a loop, a
 * look, a borrowing or another rank waits first. The cpu runs it at once. Another row finds its own code for a function by its address.
 *
 * A row that keeps something begins with a tutti_device, and is reached through it.
 * Threads: shared; no two calls at the same time touch the same elements unless both read, or a method says so (tensor/relaxed.h).
 * Errors: where memory is had; nothing else fails. Cost: a loop is one indirect call, then its one pass over memory. */
#ifndef TUTTI_DEVICE_ROW_H
#define TUTTI_DEVICE_ROW_H

#include "tutti/failure.h"
#include "tutti/types.h"

/* outputs = expression over inputs, element by element. One of `in` and `out` may have 16 bits where the other is f32: the sum is made in f32,
 * and rounded once if `out` is the narrow one. */
typedef struct {
    tutti_dtype in, out;
    tutti_operation op;   /* avg sums */
    const uint8_t *folds; /* postfix, as in tutti/schedule.h; NULL: left to right */
    bool stream;          /* larger than the caches: stores may bypass them */
} tutti_device_reduction;

/* All work that was launched up to some moment. */
typedef struct {
    uint64_t number; /* 0: none */
} tutti_event;

typedef struct tutti_device tutti_device;
struct tutti_device {
    const char *name; /* "cpu" */
    bool shares_host; /* its calls and what it launches may touch whatever the host may */

    /* Zeroed, at a multiple of 64 at least, populated; NULL with errno set if there is none. */
    void *(*allocate)(const tutti_device *d, size_t nbytes);
    void (*release)(const tutti_device *d, void *at, size_t nbytes); /* NULL is fine */
    /* Pages that are there already and stay until they are forgotten. host_too: others than this row's calls touch them as well: signal words,
     * a wire. TUTTI_ERR_FAILED, with words. */
    tutti_status (*enrol)(const tutti_device *d, void *at, size_t nbytes, bool host_too, tutti_failure *err);
    void (*forget)(const tutti_device *d, void *at, size_t nbytes);

    /* Each output = input, which may be the host's own memory. Any address, any length; an output may be the input. */
    void (*copy)(const tutti_device *d, char *const *outputs, int nout, const char *input, size_t nbytes, bool stream);
    /* n elements. An output may be one of the inputs (same address, same type); else outputs overlap nothing. nin, nout >= 1. */
    void (*reduce)(const tutti_device *d, const tutti_device_reduction *how, char *const *outputs, int nout,
                   const char *const *inputs, int nin, int64_t n);
    /* x /= nranks, n numbers: the second half of avg. */
    void (*average)(const tutti_device *d, tutti_dtype type, char *x, int64_t n, int32_t nranks);
    /* to = from; one of both types is f32, the other one f32, bf16 or f16. They overlap nothing. */
    void (*convert)(const tutti_device *d, tutti_dtype type, const void *from, tutti_dtype to_type, void *to,
                    int64_t n);

    /* args: nbytes that the row copies if it must; what they point to stays until the work is over. */
    tutti_event (*launch)(const tutti_device *d, void (*work)(const void *args), const void *args, size_t nbytes);
    void (*wait)(const tutti_device *d, tutti_event event);

    /* Its memory as the host sees it: a few numbers, copied to `to`. */
    void (*look)(const tutti_device *d, void *to, const void *from, size_t nbytes);
    /* ... or all of it, for a host's loops that are no part of a step: drawing, reading and writing weights. The host has it alone until it
     * gives it back; unless changed, nothing is written there. The cpu lends the memory itself; who must make a copy ends the process where
     * there is no memory for one, as tutti_alloc does. */
    void *(*borrow)(const tutti_device *d, const void *at, size_t nbytes);
    void (*give_back)(const tutti_device *d, const void *at, void *borrowed, size_t nbytes, bool changed);
};

/* This host's memory and cores: all that a process can touch is its own. */
const tutti_device *tutti_device_cpu(void);

#endif
