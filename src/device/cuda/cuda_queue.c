/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_queue.c: the queue of work of a card: launches, and sequences that are recorded as a CUDA graph and replayed.
 *
 * A launch is only noted: the work, its arguments and, separately, the part of the arguments that varies. When somebody
 * waits for results, all noted work is one *sequence*, which is looked up among the sequences that came before. A new
 * sequence is given to the driver piece by piece. When it comes the second time with the same arguments (except the
 * varying parts), it is recorded as a CUDA graph; from then on one call replays it. Training steps repeat, so a step
 * costs one launch.
 *
 * A sequence is known by the bytes of its arguments. An argument may be an address of a host object, such as a kernel,
 * or of the card's memory. Later something else may lie at that address. Therefore code that makes kernels calls
 * `renew`, which forgets all recorded sequences, and releasing memory forgets them too.
 *
 * The varying parts of a sequence lie one after the other in a block of pinned host memory. The first node of the graph
 * copies them to the device's block. A block is written again only when the launch that read it is over. */
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "cuda_impl.h"

enum { MOST_SEQUENCES = 512, SLOT = 16 };

typedef struct {
    const tutti_queue_work *work;
    /* offsets: of the item's arguments in sequence.args, and of their varying part in sequence.varying */
    size_t args, varying;
} item;

/* A sequence: all work that was launched between two waits. */
typedef struct {
    item *items;
    int n, most;
    char *args; /* arguments of all items; their varying parts are set to zero here */
    size_t nargs, most_args;
    char *varying;
    size_t nvarying, most_varying;
} sequence;

/* A sequence that has come before. */
typedef struct {
    uint64_t hash;
    sequence like;
    void *graph;  /* the CUDA graph; NULL until the sequence has come a second time */
    char *pinned; /* the block of varying parts: pinned on the host, block on the card */
    tutti_cu_at block;
    uint64_t used; /* when it was last used, counted in sequences that the queue has run */
    /* number of the last event of this sequence: once `done` has reached it, the block may be written again */
    uint64_t number;
} recorded;

struct tutti_cuda_queue {
    sequence now;
    recorded seen[MOST_SEQUENCES];
    int nseen;
    bool replays;
    uint64_t launched, given, done, clock;
    char *pinned; /* the block of varying parts for sequences that are not recorded */
    tutti_cu_at block;
    size_t block_bytes;
};

tutti_cuda_queue *tutti_cuda_queue_create(bool replays)
{
    tutti_cuda_queue *q = tutti_alloc(sizeof *q);
    q->replays = replays;
    return q;
}

/* ---- noting launches ---- */

static void *grow(void *at, size_t *most, size_t need)
{
    if (need <= *most) return at;
    *most = 2 * need;
    return tutti_realloc(at, *most);
}

static void note(sequence *s, const tutti_queue_work *work, const void *args)
{
    const size_t nargs = (work->nbytes + SLOT - 1) / SLOT * SLOT, slot = (work->varying_bytes + SLOT - 1) / SLOT * SLOT;
    if (s->n == s->most) {
        s->most = s->most ? 2 * s->most : 256;
        s->items = tutti_realloc(s->items, sizeof *s->items * (size_t)s->most);
    }
    s->args = grow(s->args, &s->most_args, s->nargs + nargs);
    s->varying = grow(s->varying, &s->most_varying, s->nvarying + slot);
    char *copy = s->args + s->nargs;
    memset(copy + work->nbytes, 0, nargs - work->nbytes);
    memcpy(copy, args, work->nbytes);
    memset(copy + work->varying_at, 0, work->varying_bytes);
    if (slot) memcpy(s->varying + s->nvarying, (const char *)args + work->varying_at, work->varying_bytes);
    s->items[s->n++] = (item){work, s->nargs, s->nvarying};
    s->nargs += nargs;
    s->nvarying += slot;
}

uint64_t tutti_cuda_put(tutti_cuda *c, const tutti_queue_work *work, const void *args)
{
    note(&c->queue->now, work, args);
    return ++c->queue->launched;
}

static void empty(sequence *s)
{
    s->n = 0;
    s->nargs = s->nvarying = 0;
}

static void free_sequence(sequence *s)
{
    free(s->items), free(s->args), free(s->varying);
    *s = (sequence){0};
}

/* ---- giving a sequence to the driver ---- */

/* Launches all items of a sequence. block: address in the card's memory of the varying parts. */
static void run_items(tutti_cuda *c, const sequence *s, tutti_cu_at block)
{
    for (int i = 0; i < s->n; i++) {
        const item *it = &s->items[i];
        it->work->run(&c->row, s->args + it->args, (const void *)(uintptr_t)(block + it->varying));
    }
}

static bool take_block(tutti_cuda *c, size_t nbytes, char **pinned, tutti_cu_at *block)
{
    *pinned = NULL, *block = 0;
    return TUTTI_CUDA(c, cuMemHostAlloc, (void **)pinned, nbytes, 0) && TUTTI_CUDA(c, cuMemAlloc_v2, block, nbytes);
}

static void give_block(tutti_cuda *c, char *pinned, tutti_cu_at block)
{
    if (pinned) c->driver.cuMemFreeHost(pinned);
    if (block) c->driver.cuMemFree_v2(block);
}

static void wait_for_stream(tutti_cuda *c)
{
    TUTTI_CUDA(c, cuStreamSynchronize, c->stream);
    c->queue->done = c->queue->given;
}

/* Gives the sequence to the driver piece by piece. */
static void run_once(tutti_cuda *c)
{
    tutti_cuda_queue *q = c->queue;
    const sequence *s = &q->now;
    if (q->done < q->given && s->nvarying) wait_for_stream(c); /* an earlier launch may still read the block */
    if (s->nvarying > q->block_bytes) {
        give_block(c, q->pinned, q->block);
        q->block_bytes = 2 * s->nvarying;
        if (!take_block(c, q->block_bytes, &q->pinned, &q->block)) q->block_bytes = 0;
    }
    if (s->nvarying && q->block_bytes) {
        memcpy(q->pinned, s->varying, s->nvarying);
        TUTTI_CUDA(c, cuMemcpyHtoDAsync_v2, q->block, q->pinned, s->nvarying, c->stream);
    }
    run_items(c, s, q->block);
}

/* ---- replaying ---- */

static uint64_t hash_of(const sequence *s)
{
    return tutti_hash(s->args, s->nargs) ^ (uint64_t)s->n * 0x9e3779b97f4a7c15u;
}

static bool is_same(const sequence *a, const sequence *b)
{
    if (a->n != b->n || a->nargs != b->nargs || a->nvarying != b->nvarying) return false;
    for (int i = 0; i < a->n; i++)
        if (a->items[i].work != b->items[i].work) return false;
    return memcmp(a->args, b->args, a->nargs) == 0;
}

static void drop(tutti_cuda *c, recorded *r)
{
    if (r->graph) TUTTI_CUDA(c, cuGraphExecDestroy, r->graph);
    give_block(c, r->pinned, r->block);
    free_sequence(&r->like);
    *r = (recorded){0};
}

static recorded *find(tutti_cuda_queue *q, uint64_t hash)
{
    for (int i = 0; i < q->nseen; i++)
        if (q->seen[i].hash == hash && is_same(&q->seen[i].like, &q->now)) return &q->seen[i];
    return NULL;
}

/* Returns a free entry for a sequence. If all entries are taken, the sequence that was used longest ago is dropped. */
static recorded *new_place(tutti_cuda *c)
{
    tutti_cuda_queue *q = c->queue;
    if (q->nseen < MOST_SEQUENCES) return &q->seen[q->nseen++];
    recorded *oldest = &q->seen[0];
    for (int i = 1; i < q->nseen; i++)
        if (q->seen[i].used < oldest->used) oldest = &q->seen[i];
    wait_for_stream(c);
    drop(c, oldest);
    return oldest;
}

static void copy_sequence(const sequence *s, sequence *out)
{
    *out = (sequence){.n = s->n, .most = s->n, .nargs = s->nargs, .nvarying = s->nvarying};
    out->items = tutti_alloc(sizeof *out->items * (size_t)s->n);
    out->args = tutti_alloc(s->nargs);
    memcpy(out->items, s->items, sizeof *out->items * (size_t)s->n);
    memcpy(out->args, s->args, s->nargs);
}

/* Records the sequence as a CUDA graph and returns it. Returns NULL if that fails, and remembers the failure. */
static void *record(tutti_cuda *c, recorded *r)
{
    void *graph = NULL, *exec = NULL;
    if (r->like.nvarying && !r->pinned && !take_block(c, r->like.nvarying, &r->pinned, &r->block)) return NULL;
    if (!TUTTI_CUDA(c, cuStreamBeginCapture_v2, c->stream, TUTTI_CU_CAPTURE_RELAXED)) return NULL;
    if (r->like.nvarying) TUTTI_CUDA(c, cuMemcpyHtoDAsync_v2, r->block, r->pinned, r->like.nvarying, c->stream);
    run_items(c, &r->like, r->block);
    if (!TUTTI_CUDA(c, cuStreamEndCapture, c->stream, &graph)) return NULL;
    if (!TUTTI_CUDA(c, cuGraphInstantiateWithFlags, &exec, graph, 0)) exec = NULL;
    TUTTI_CUDA(c, cuGraphDestroy, graph);
    return exec;
}

static void replay(tutti_cuda *c, recorded *r)
{
    tutti_cuda_queue *q = c->queue;
    if (r->number > q->done) wait_for_stream(c); /* an earlier replay may still read this block of varying parts */
    if (r->like.nvarying) memcpy(r->pinned, q->now.varying, r->like.nvarying);
    TUTTI_CUDA(c, cuGraphLaunch, r->graph, c->stream);
}

static void meet_what_was_brought(tutti_cuda *c)
{
    if (c->is_coming) TUTTI_CUDA(c, cuStreamWaitEvent, c->stream, c->arrived, 0);
    c->is_coming = false;
}

void tutti_cuda_flush(tutti_cuda *c)
{
    tutti_cuda_queue *q = c->queue;
    if (!q->now.n) return;
    meet_what_was_brought(c);
    c->seen_at = NULL;
    const uint64_t hash = hash_of(&q->now);
    recorded *r = q->replays ? find(q, hash) : NULL;
    if (r && !r->graph && !c->failure.status) r->graph = record(c, r);
    if (c->failure.status) {
        /* a failure is remembered, so no more work runs: results of launches are undefined, and `check` reports the
         * failure */
    } else if (r) {
        replay(c, r);
    } else {
        run_once(c);
    }
    if (!r && q->replays) {
        r = new_place(c);
        *r = (recorded){.hash = hash};
        copy_sequence(&q->now, &r->like);
    }
    q->given = q->launched;
    if (r) r->used = ++q->clock, r->number = q->given;
    empty(&q->now);
}

void tutti_cuda_sync(tutti_cuda *c)
{
    tutti_cuda_flush(c);
    wait_for_stream(c);
}

void tutti_cuda_forget_recorded(tutti_cuda *c)
{
    tutti_cuda_queue *q = c->queue;
    for (int i = 0; i < q->nseen; i++) drop(c, &q->seen[i]);
    q->nseen = 0;
}

void tutti_cuda_queue_destroy(tutti_cuda *c)
{
    tutti_cuda_queue *q = c->queue;
    tutti_cuda_forget_recorded(c);
    if (c->context) give_block(c, q->pinned, q->block);
    free_sequence(&q->now);
    free(q);
    c->queue = NULL;
}

/* ---- the calls of the device row ---- */

static tutti_event launch(const tutti_device *d, const tutti_queue_work *work, const void *args)
{
    tutti_cuda *c = tutti_cuda_of(d);
    pthread_mutex_lock(&c->lock);
    const tutti_event event = {tutti_cuda_put(c, work, args)};
    pthread_mutex_unlock(&c->lock);
    return event;
}

static void wait_for(const tutti_device *d, tutti_event event)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    if (event.number > c->queue->done) tutti_cuda_sync(c);
    tutti_cuda_end(c);
}

static void finish(const tutti_device *d)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_sync(c);
    tutti_cuda_end(c);
}

static void renew(const tutti_device *d)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_sync(c);
    tutti_cuda_forget_recorded(c);
    tutti_cuda_end(c);
}

static void push(const tutti_device *d)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    tutti_cuda_flush(c);
    tutti_cuda_end(c);
}

static void bring(const tutti_device *d, void *to, const void *from, size_t nbytes)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    c->seen_at = NULL;
    if (nbytes) TUTTI_CUDA(c, cuMemcpyHtoDAsync_v2, (tutti_cu_at)(uintptr_t)to, from, nbytes, c->side);
    TUTTI_CUDA(c, cuEventRecord, c->arrived, c->side);
    c->is_coming = true;
    tutti_cuda_end(c);
}

static void brought(const tutti_device *d)
{
    tutti_cuda *c = tutti_cuda_begin(d);
    TUTTI_CUDA(c, cuStreamSynchronize, c->side);
    tutti_cuda_end(c);
}

void tutti_cuda_place_queue(tutti_device *row)
{
    row->renew = renew;
    row->push = push;
    row->bring = bring;
    row->brought = brought;
    row->launch = launch;
    row->wait = wait_for;
    row->finish = finish;
}

/* ---- calls for the functions that launch kernels ---- */

tutti_cuda_grid tutti_cuda_cover(int64_t n, int threads, int each)
{
    const int64_t block = (int64_t)threads * each;
    return (tutti_cuda_grid){.blocks = {(uint32_t)((n + block - 1) / block)}, .threads = {(uint32_t)threads}};
}

static unsigned at_least_one(uint32_t n)
{
    return n ? n : 1;
}

void tutti_cuda_run(tutti_cuda *c, tutti_cuda_function f, tutti_cuda_grid g, void *const *args)
{
    if (!g.blocks[0]) return; /* a grid without blocks has nothing to do */
    TUTTI_CUDA(c, cuLaunchKernel, f, g.blocks[0], at_least_one(g.blocks[1]), at_least_one(g.blocks[2]), g.threads[0],
               at_least_one(g.threads[1]), at_least_one(g.threads[2]), g.shared, c->stream, (void **)(uintptr_t)args,
               NULL);
}
