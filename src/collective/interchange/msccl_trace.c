/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_trace.c: finds which chunk of the vector every step of an MSCCL program moves, by playing the program once.
 *
 * The k-th send of a block meets the k-th receive of the block at the other end. At the beginning each place of input
 * and output holds the chunk that belongs there; a chunk keeps its number wherever it is copied. A first try lets each
 * send wait for its receive, so that both ends of a message get one stage. If that try gets stuck, sends no longer
 * wait. If the program hangs even so, the steps that were not played get the chunks that belong at their places, and a
 * stage after all others; the checker will hang there too. If two steps race for a place, the positions found are those
 * of one order; the checker finds the race. */
#include "msccl_impl.h"

typedef struct {
    const msccl_block *block;
    int32_t gpu;
    int32_t source, sink; /* source: the block whose messages this block receives; sink: the block that it sends to; -1
                           * = none */
    int32_t *givers;      /* steps of the block that send, in order */
    int32_t ngivers;
    int32_t at;
    bool half;              /* the receive of the step at `at` is done */
    bool offers;            /* true while the block has begun a send that is not over */
    int32_t ngiven, ntaken; /* numbers of messages that this block has sent, and received */
    int32_t stage, after;   /* stage: the stage of the block's last step; after: the lowest stage that the next message
                             * may have */
} player;

typedef struct {
    tutti_msccl *m;
    bool ahead; /* true in the second try: sends do not wait for their receives */
    player *players;
    int32_t *first; /* for each GPU: index of its first player */
    int32_t nplayers;
    int32_t **held; /* for each GPU and location: the chunk in it, -1 = unknown */
    int32_t stage;  /* highest stage so far */
} trace;

int32_t msccl_natural(const tutti_msccl *m, int32_t gpu, msccl_place at)
{
    int32_t p = m->ngpus, width = m->nchunks / p;
    if (at.buffer == MSCCL_S) return -1;
    bool input = at.buffer == MSCCL_I;
    if (m->collective == TUTTI_ALL_GATHER) return input ? gpu * width + at.offset : at.offset;
    if (m->collective == TUTTI_REDUCE_SCATTER) return input ? at.offset : gpu * width + at.offset;
    if (m->collective != TUTTI_ALL_TO_ALL) return at.offset;
    int32_t other = at.offset / width, block = input ? gpu * p + other : other * p + gpu;
    return block * width + at.offset % width;
}

int32_t msccl_location(const tutti_msccl *m, int32_t gpu, msccl_place at)
{
    const msccl_gpu *g = &m->gpus[gpu];
    const int32_t begin[3] = {0, g->size[MSCCL_I], g->size[MSCCL_I] + g->size[MSCCL_O]};
    if (!m->in_place || at.buffer == MSCCL_S) return begin[at.buffer] + at.offset;
    /* in place: the buffer that holds the whole vector; the other buffer is a part of it */
    int32_t whole = m->collective == TUTTI_REDUCE_SCATTER ? MSCCL_I : MSCCL_O;
    return begin[whole] + msccl_natural(m, gpu, at);
}

static void find_ends(trace *x)
{
    for (int32_t i = 0; i < x->nplayers; i++) {
        player *a = &x->players[i];
        a->source = a->sink = -1;
        for (int32_t k = 0; k < a->block->nsteps; k++)
            if (msccl_does[a->block->steps[k].type] & MSCCL_GIVES) a->ngivers++;
        a->givers = TUTTI_ARENA_NEW(&x->m->arena, int32_t, a->ngivers + 1);
        a->ngivers = 0;
        for (int32_t k = 0; k < a->block->nsteps; k++)
            if (msccl_does[a->block->steps[k].type] & MSCCL_GIVES) a->givers[a->ngivers++] = k;
        for (int32_t peer = 0; peer < 2; peer++) {
            int32_t other = peer ? a->block->recv : a->block->send;
            if (other < 0) continue;
            for (int32_t t = 0; t < x->m->gpus[other].nblocks; t++) {
                const msccl_block *b = &x->m->gpus[other].blocks[t];
                if (b->channel != a->block->channel || (peer ? b->send : b->recv) != a->gpu) continue;
                *(peer ? &a->source : &a->sink) = x->first[other] + t;
            }
        }
    }
}

static void reset(trace *x)
{
    for (int32_t r = 0; r < x->m->ngpus; r++) {
        const msccl_gpu *g = &x->m->gpus[r];
        for (int32_t i = 0; i < msccl_nlocations(g); i++) x->held[r][i] = -1;
        for (int32_t b = 0; b < 2; b++)
            for (int32_t i = 0; i < g->size[b]; i++) {
                msccl_place at = {b, i};
                x->held[r][msccl_location(x->m, r, at)] = msccl_natural(x->m, r, at);
            }
    }
    for (int32_t i = 0; i < x->nplayers; i++) {
        player *a = &x->players[i];
        a->at = a->ngiven = a->ntaken = a->stage = a->after = 0;
        a->half = a->offers = false;
        for (int32_t k = 0; k < a->block->nsteps; k++) a->block->steps[k].from = a->block->steps[k].to = NULL;
    }
    x->stage = 0;
}

static int32_t held_at(const trace *x, int32_t gpu, msccl_place at)
{
    int32_t position = x->held[gpu][msccl_location(x->m, gpu, at)], own = msccl_natural(x->m, gpu, at);
    if (position < 0) position = own;
    return position < 0 ? at.offset % x->m->of : position;
}

/* Sets the chunks of a step to those that belong at its places, before or without playing the step. */
static void guess(const trace *x, int32_t gpu, msccl_step *s)
{
    unsigned does = msccl_does[s->type];
    msccl_place at = does & MSCCL_READS && s->type != MSCCL_REDUCE ? s->src : s->dst;
    for (int32_t i = 0; i < s->count; i++) s->position[i] = held_at(x, gpu, msccl_at(at, i));
}

static void store(trace *x, int32_t gpu, const msccl_step *s)
{
    if (!(msccl_does[s->type] & MSCCL_WRITES)) return;
    for (int32_t i = 0; i < s->count; i++)
        x->held[gpu][msccl_location(x->m, gpu, msccl_at(s->dst, i))] = s->position[i];
}

static int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Passes the message that the next receive of `to` takes from `from`. */
static void pass(trace *x, player *from, player *to, msccl_step *s)
{
    msccl_step *sent = &from->block->steps[from->givers[to->ntaken]];
    for (int32_t i = 0; i < s->count && i < sent->count; i++) s->position[i] = sent->position[i];
    s->from = sent, sent->to = s;
    int32_t common = most(most(to->after, to->stage), sent->stage);
    if (!x->ahead) sent->stage = common;
    s->stage_in = s->stage = to->stage = common;
    to->after = common + 1;
    x->stage = most(x->stage, common);
    to->ntaken++;
}

static bool take(trace *x, player *a, msccl_step *s)
{
    if (a->source < 0) return false;
    player *from = &x->players[a->source];
    bool there = x->ahead ? from->ngiven > a->ntaken : from->offers && from->ngiven == a->ntaken;
    if (!there) return false;
    guess(x, a->gpu, s);
    pass(x, from, a, s);
    store(x, a->gpu, s);
    if (x->ahead) return true;
    from->offers = false; /* the send is done */
    from->ngiven++;
    return true;
}

/* Begins the send of the step or looks whether it is over; returns true if it is over. */
static bool give(trace *x, player *a, msccl_step *s)
{
    if (!a->offers && (!s->to || x->ahead)) { /* the send begins */
        if (!(msccl_does[s->type] & MSCCL_TAKES)) guess(x, a->gpu, s);
        s->stage = most(a->stage, a->after);
        a->offers = true;
        x->stage = most(x->stage, s->stage);
    }
    if (!x->ahead && !s->to) return false;
    if (x->ahead) a->ngiven++;
    a->offers = false;
    a->stage = most(a->stage, s->stage);
    a->after = most(a->after, a->stage + 1);
    return true;
}

static bool dep_is_met(const trace *x, player *a, const msccl_step *s)
{
    if (s->block < 0) return true;
    const player *b = &x->players[x->first[a->gpu] + s->block];
    if (b->at <= s->step) return false;
    const msccl_step *dep = &b->block->steps[s->step];
    bool message = msccl_does[dep->type] & (MSCCL_GIVES | MSCCL_TAKES);
    a->stage = most(a->stage, dep->stage);
    a->after = most(a->after, dep->stage + message);
    return true;
}

/* Plays one step or half a step; false = it waits or has ended. */
static bool advance(trace *x, player *a)
{
    if (a->at == a->block->nsteps) return false;
    msccl_step *s = &a->block->steps[a->at];
    unsigned does = msccl_does[s->type];
    if (!a->half && !a->offers && !dep_is_met(x, a, s)) return false;
    if (does & MSCCL_TAKES && !a->half) {
        a->half = take(x, a, s);
        return a->half;
    }
    if (does & MSCCL_GIVES) {
        bool offered = a->offers;
        if (!give(x, a, s)) return !offered;
    } else if (!(does & MSCCL_TAKES)) {
        guess(x, a->gpu, s);
        store(x, a->gpu, s);
        s->stage = a->stage;
    }
    a->half = false;
    a->at++;
    return true;
}

static bool play(trace *x)
{
    reset(x);
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t i = 0; i < x->nplayers; i++)
            while (advance(x, &x->players[i])) moved = true;
    }
    for (int32_t i = 0; i < x->nplayers; i++)
        if (x->players[i].at < x->players[i].block->nsteps) return false;
    return true;
}

/* Puts the steps that hang into a stage after all other steps. */
static void finish(trace *x)
{
    for (int32_t i = 0; i < x->nplayers; i++) {
        player *a = &x->players[i];
        for (int32_t k = a->at; k < a->block->nsteps; k++) {
            msccl_step *s = &a->block->steps[k];
            if (k > a->at || !a->half) {
                guess(x, a->gpu, s);
                s->stage_in = x->stage + 1;
            }
            s->stage = x->stage + 1;
        }
    }
}

tutti_status msccl_trace(tutti_msccl *m, const char *name, tutti_failure *err)
{
    enum { MAX_PLACES = 1 << 26 };
    trace x = {.m = m, .first = TUTTI_ARENA_NEW(&m->arena, int32_t, m->ngpus)};
    int64_t nplaces = 0;
    for (int32_t r = 0; r < m->ngpus; r++) {
        x.first[r] = x.nplayers;
        x.nplayers += m->gpus[r].nblocks;
        nplaces += msccl_nlocations(&m->gpus[r]);
    }
    if (nplaces > MAX_PLACES) return tutti_fail(err, TUTTI_ERR_DATA, "%s: too many chunks on all GPUs", name);
    x.players = TUTTI_ARENA_NEW(&m->arena, player, x.nplayers);
    x.held = TUTTI_ARENA_NEW(&m->arena, int32_t *, m->ngpus);
    for (int32_t r = 0; r < m->ngpus; r++) {
        x.held[r] = TUTTI_ARENA_NEW(&m->arena, int32_t, msccl_nlocations(&m->gpus[r]) + 1);
        for (int32_t t = 0; t < m->gpus[r].nblocks; t++) {
            msccl_block *b = &m->gpus[r].blocks[t];
            x.players[x.first[r] + t] = (player){.block = b, .gpu = r};
            for (int32_t i = 0; i < b->nsteps; i++)
                b->steps[i].position = TUTTI_ARENA_NEW(&m->arena, int32_t, b->steps[i].count + 1);
        }
    }
    find_ends(&x);
    if (!play(&x)) {
        x.ahead = true;
        play(&x);
    }
    finish(&x);
    return TUTTI_OK;
}
