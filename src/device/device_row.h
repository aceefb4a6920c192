/* SPDX-License-Identifier: Apache-2.0 */
/* device_row.h: a device: where vectors lie and what computes on them, one row a kind: `cpu` is this host's memory and
 * cores, `cuda` a card's. Who owns vectors (a plan's memories, an exchange's scratch) is given a row and does all to
 * them by its calls; addresses are the row's, which the host may add to and compare, and follow only where the row
 * shares the host's memory.
 *
 * Memory. A row allocates, or it is shown what is there already (enrol), such as regions, which peers map too. Its
 * calls touch nothing else, but where it shares the host's memory.
 *
 * The queue. Work (launch) and loops (copy, reduce, convert, average) run in the order in which they were put on the
 * queue, by whatever thread. The cpu runs each at once. Work is over when its event was waited for; work and loops are
 * all over when finish returns. Nothing else waits for them: a caller that wants their results for a look, a borrowing
 * or another rank finishes first.
 *
 * Loops are elementwise, the same bits at any offset and in any cut, and the same on all rows (tensor/reduce.h and
 * tensor/convert.h say which).
 *
 * Work is a row of a table (tutti_queue_work), one table a kind of device; whoever launches takes the row of the
 * device's kind.
 *
 * A row that keeps something begins with a tutti_device, and is reached through it.
 * Threads: shared; no two calls at the same time touch the same elements unless both read, or a method says so
 * (tensor/relaxed.h). Errors: where memory is had; a card that fails later says so in check. Cost: a loop is one
 * indirect call, then its one pass over memory. */
#ifndef TUTTI_DEVICE_ROW_H
#define TUTTI_DEVICE_ROW_H

#include "../tensor/reduce.h"
#include "tutti/failure.h"

/* outputs = expression over inputs, element by element. One of `in` and `out` may have 16 bits where the other is f32:
 * the sum is made in f32, and rounded once if `out` is the narrow one. */
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

/* Whose code runs: which column of a table of work a device takes. */
typedef enum { TUTTI_DEVICE_CPU, TUTTI_DEVICE_CUDA, TUTTI_NDEVICE_KINDS } tutti_device_kind;

/* One kind of work, as one kind of device does it. */
typedef struct {
    const char *name; /* "forward", in failures */
    /* args: nbytes of them. varying: where the device finds the part of the arguments that changes from step to step
     * when the work runs (on the cpu: inside args); code that is recorded once and replayed must read that part from
     * there. */
    void (*run)(const tutti_device *d, const void *args, const void *varying);
    size_t nbytes, varying_at, varying_bytes; /* of the arguments; varying_bytes 0: all of them stay the same */
} tutti_queue_work;

enum { TUTTI_DEVICE_HANDLE = 64 }; /* bytes */

struct tutti_device {
    const char *name;  /* "cpu" */
    const char *about; /* "NVIDIA H200"; NULL: nothing more is to be said */
    tutti_device_kind kind;
    bool shares_host; /* its calls and what it launches may touch whatever the host may */

    /* Zeroed, at a multiple of 64 at least, populated; NULL with errno set if there is none. */
    void *(*allocate)(const tutti_device *d, size_t nbytes);
    void (*release)(const tutti_device *d, void *at, size_t nbytes); /* NULL is fine */
    /* Memory that it has allocated, for other processes of this host: show writes a handle, by which each of them opens
     * it at an address of its own. NULL where peers map the host's memory itself. A failure's words say what the device
     * refuses. */
    tutti_status (*show)(const tutti_device *d, const void *at, char handle[TUTTI_DEVICE_HANDLE], tutti_failure *err);
    tutti_status (*open)(const tutti_device *d, const char handle[TUTTI_DEVICE_HANDLE], size_t nbytes, void **at,
                         tutti_failure *err);
    void (*close)(const tutti_device *d, void *at);
    /* Pages that are there already and stay until they are forgotten. host_too: others than this row's calls touch them
     * as well: signal words, a wire. TUTTI_ERR_FAILED, with words. */
    tutti_status (*enrol)(const tutti_device *d, void *at, size_t nbytes, bool host_too, tutti_failure *err);
    void (*forget)(const tutti_device *d, void *at, size_t nbytes);

    /* Each output = input, which may be the host's own memory. Any address, any length; an output may be the input. */
    void (*copy)(const tutti_device *d, char *const *outputs, int nout, const char *input, size_t nbytes, bool stream);
    /* n elements. An output may be one of the inputs (same address, same type); else outputs overlap nothing. */
    void (*reduce)(const tutti_device *d, const tutti_device_reduction *how, const tutti_operands *of, int64_t n);
    /* x /= nranks, n numbers: the second half of avg. */
    void (*average)(const tutti_device *d, tutti_dtype type, char *x, int64_t n, int32_t nranks);
    /* to = from; one of both types is f32, the other one f32, bf16 or f16. They overlap nothing. */
    void (*convert)(const tutti_device *d, tutti_dtype type, const void *from, tutti_dtype to_type, void *to,
                    int64_t n);

    /* args: work->nbytes that the row copies if it must; what they point to stays until the work is over. */
    tutti_event (*launch)(const tutti_device *d, const tutti_queue_work *work, const void *args);
    void (*wait)(const tutti_device *d, tutti_event event);
    /* Gives what is on the queue to the device and returns. NULL together with bring and brought: the device reads the
     * host's memory where it is. */
    void (*push)(const tutti_device *d);
    /* Copies host memory to the device's beside the queue. What is launched after the next push or wait finds it there.
     * Nothing in flight may read `to`; `from` stays until brought has returned. */
    void (*bring)(const tutti_device *d, void *to, const void *from, size_t nbytes);
    void (*brought)(const tutti_device *d);
    /* Waits until all that is on the queue is over. */
    void (*finish)(const tutti_device *d);
    /* The host has made something anew that arguments of work point to, such as a kernel: the row replays nothing that
     * it recorded before. NULL: the row never records. */
    void (*renew)(const tutti_device *d);
    /* TUTTI_ERR_FAILED with words once the device has failed; what was launched since then is undefined. */
    tutti_status (*check)(const tutti_device *d, tutti_failure *err);

    /* Its memory as the host sees it: a few numbers, copied to `to`. */
    void (*look)(const tutti_device *d, void *to, const void *from, size_t nbytes);
    /* ... or all of it, for a host's loops that are no part of a step: drawing, reading and writing weights. The host
     * has it alone until it gives it back; unless changed, nothing is written there. The cpu lends the memory itself;
     * who must make a copy ends the process where there is no memory for one, as tutti_alloc does. */
    void *(*borrow)(const tutti_device *d, const void *at, size_t nbytes);
    void (*give_back)(const tutti_device *d, const void *at, void *borrowed, size_t nbytes, bool changed);
};

/* The kind of a device; of NULL, which stands for the cpu in requests and configurations, that of the cpu. */
static inline tutti_device_kind tutti_device_kind_of(const tutti_device *d)
{
    return d ? d->kind : TUTTI_DEVICE_CPU;
}

/* This host's memory and cores: all that a process can touch is its own. */
const tutti_device *tutti_device_cpu(void);

/* name: "cpu"; "cuda": the card of this number among those that the process sees, counted around; "auto": that card
 * where there is one that can be used, else the cpu. *why (may be NULL): why auto took the cpu, words that the caller
 * frees, or NULL. TUTTI_ERR_USAGE with what is missing. Each connect is ended by a disconnect, after all that was made
 * on the device is gone. */
tutti_status tutti_device_connect(const char *name, int card, const tutti_device **out, char **why, tutti_failure *err);
void tutti_device_disconnect(const tutti_device *d); /* NULL is fine */

#endif
