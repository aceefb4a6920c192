/* SPDX-License-Identifier: Apache-2.0 */
/* executor_run.c: runs the steps of an exchange that can run now: the inner loop of every exchange, which sums and
 * copies. Never blocks, never fails.
 *
 * A signal is one store and one look whether the peer sleeps; a wait is one load. Both are sequentially consistent, as
 * the sleeping protocol of group_impl.h needs. On x86 this costs only the store, which must be ordered anyway. */
#include <sched.h>

#include "../../base/clock.h"
#include "../../base/rng.h"
#include "../group/flight.h"
#include "executor_impl.h"

/* Returns true if no put or signal of the step is in flight any more. */
static bool has_landed(const tutti_op *op)
{
    for (int i = 0; i < TUTTI_MOST_PIECES; i++)
        if (op->flights[i] && !op->flights[i]->over) return false;
    return true;
}

static bool may_start(const tutti_exchange *x, const tutti_op *op)
{
    if (op->launched) return has_landed(op);
    if (op->when & ~x->when) return false;
    for (int32_t d = 0; d < op->ndeps; d++)
        if (x->ops[x->deps[op->first_dep + d]].done <= x->invocation) return false;
    if (op->kind == TUTTI_STEP_WAIT)
        return atomic_load(op->counter) >= (uint64_t)x->invocation * op->each + op->ordinal;
    return true;
}

/* Most pointers of a step that are moved on when a part of it is done. Steps with more operands are rare and run
 * whole. */
enum { MOST_MOVED = 64 };

/* Returns true if outputs should bypass the caches: vectors that the caches cannot hold, and memory whose readers are
 * faster that way. */
static bool stores_past_caches(const tutti_exchange *x, const tutti_op *op)
{
    if (!x->plain) return op->stream && x->stores.past;
    return op->shows ? x->plain->shown_past : x->plain->stream;
}

static void move_block(const tutti_exchange *x, const tutti_op *op, int64_t from, int64_t n)
{
    char **base = x->pointers[x->invocation % x->nsets] + op->first, *moved[MOST_MOVED];
    /* in place with a single rank, nothing has to be added */
    if (op->nins == 1 && op->nouts == 1 && base[0] == base[1]) return;
    if (from > 0) {
        for (int32_t k = 0; k < op->nins + op->nouts; k++)
            moved[k] = base[k] + from * (int64_t)(k < op->nins ? op->in_bytes : op->out_bytes);
        base = moved;
    }
    char *const *out = base + op->nins;
    const bool stream = stores_past_caches(x, op);
    if (op->kind != TUTTI_STEP_REDUCE && op->in_bytes == op->out_bytes) {
        x->device->copy(x->device, out, op->nouts, base[0], (size_t)n * op->out_bytes, stream);
        return;
    }
    tutti_device_reduction how = {.in = x->type, .out = x->type, .op = x->op, .folds = op->folds, .stream = stream};
    if (op->in_bytes < op->out_bytes) how.in = x->sent, how.out = TUTTI_F32;
    if (op->in_bytes > op->out_bytes) how.in = TUTTI_F32, how.out = x->sent;
    const tutti_operands of = {out, op->nouts, (const char *const *)base, op->nins};
    x->device->reduce(x->device, &how, &of, n);
}

/* Moves n elements of the step from element `from` on. Returns false if peers' memory cannot be reached. */
static bool move(tutti_exchange *x, const tutti_op *op, int64_t from, int64_t n)
{
    if (op->npeers && x->group->peer_memory == TUTTI_PEERS_COPIED) return tutti_peer_move(x, op, from, n);
    move_block(x, op, from, n);
    return true;
}

typedef enum { STEP_DONE, STEP_GOES_ON, STEP_HELD } step_progress;

/* Notes the first move of the invocation after a wait. Before that move, met_s counts only this rank's own work: the
 * rest of the time was spent waiting until the other ranks began. */
static void note_meeting(tutti_exchange *x)
{
    x->met_ns = tutti_clock_ns();
    x->stats.met_s += x->stats.work_s - x->worked_s;
}

/* Waits for the device's queue, because the next signal tells a peer that the work is done. With a single member there
 * is no peer. */
static void settle(const tutti_exchange *x)
{
    if (x->nmembers > 1) x->device->finish(x->device);
}

/* Returns true if the step is done block by block. Steps that this thread computes are, so that other exchanges get
 * turns; a card's queue takes a whole step at once. */
static bool goes_in_blocks(const tutti_exchange *x, const tutti_op *op)
{
    return x->device->shares_host && op->nins + op->nouts <= MOST_MOVED;
}

static step_progress move_data(tutti_exchange *x, tutti_op *op)
{
    const int64_t bytes = (int64_t)op->out_bytes;
    if (x->has_waited && !x->met_ns) note_meeting(x);
    if (op->npeers && op->cursor == 0) tutti_plain_find_peers(x, op);
    if (op->n * bytes < TUTTI_TIMED) {
        if (!move(x, op, 0, op->n)) return STEP_HELD;
        settle(x);
        return STEP_DONE;
    }
    int64_t begin = tutti_clock_ns(), left = op->n - op->cursor;
    int64_t n = left * bytes <= TUTTI_BLOCK || !goes_in_blocks(x, op) ? left : TUTTI_BLOCK / bytes;
    if (!move(x, op, op->cursor, n)) return STEP_HELD;
    op->cursor += n;
    if (op->cursor == op->n) settle(x);
    x->stats.work_s += 1e-9 * (double)(tutti_clock_ns() - begin);
    if (op->cursor < op->n) return STEP_GOES_ON;
    op->cursor = 0;
    return STEP_DONE;
}

static void delay(const tutti_exchange *x, const tutti_op *op)
{
    const uint64_t step = (uint64_t)(op - x->ops) << 16 | (uint64_t)x->group->rank;
    const tutti_random4 r = tutti_random(x->delay_seed, TUTTI_STREAM_TEST, (uint64_t)x->invocation, step);
    if (r.word[0] % 2) tutti_clock_sleep_s(1e-6 * (double)(r.word[1] % (uint32_t)x->delay_us));
}

/* Returns a free place for one more flight; NULL: there is none. */
static tutti_put **free_place(tutti_op *op)
{
    for (int i = 0; i < TUTTI_MOST_PIECES; i++) {
        tutti_put **place = &op->flights[i];
        if (*place && !(*place)->over) continue;
        tutti_put_release(*place);
        *place = NULL;
        return place;
    }
    return NULL;
}

/* Starts the next elements of a put. An exchange that gives way to others sends a piece, if the wire has room; then a
 * more urgent exchange that begins later waits only for pieces. Other exchanges send all elements. False: nothing can
 * start now. */
static bool launch_some(tutti_exchange *x, tutti_op *op)
{
    const tutti_wire_row *row = op->wire->row;
    const int64_t bytes = (int64_t)op->out_bytes, left = op->n - op->cursor;
    const bool cuts = x->priority > 0 && row->has_room;
    tutti_put **place = free_place(op);
    if (!place || (cuts && !row->has_room(op->wire, op->peer))) return false;
    char *const *at = x->pointers[x->invocation % x->nsets] + op->first;
    const int64_t n = cuts && left * bytes > TUTTI_PIECE ? TUTTI_PIECE / bytes : left, skip = op->cursor * bytes;
    *place =
        row->put(op->wire, op->peer, (uint64_t)(uintptr_t)(at[1] + skip), at[0] + skip, (size_t)(n * bytes), false);
    op->cursor += n;
    return true;
}

/* Starts a put, as far as there is room, or a signal over the wire; true if any part of it has started. */
static bool launch(tutti_exchange *x, tutti_op *op)
{
    const int64_t before = op->cursor;
    if (x->delay_us && before == 0) delay(x, op);
    if (op->kind == TUTTI_STEP_SIGNAL)
        op->flights[0] =
            op->wire->row->put_word(op->wire, op->peer, op->far, (uint64_t)x->invocation * op->each + op->ordinal);
    for (bool goes = op->kind != TUTTI_STEP_SIGNAL; goes && op->cursor < op->n;) goes = launch_some(x, op);
    op->launched = op->kind == TUTTI_STEP_SIGNAL || op->cursor == op->n;
    return op->launched || op->cursor > before;
}

/* Returns true if a put of a later stage should wait because the wire has not taken all of an earlier put to another
 * peer. Otherwise a rank that sends to several peers in turn would share its link among them, and the first peer, for
 * whose data the next level of a tree waits, would have its bytes no sooner than the last. The call of has_room also
 * makes the wire queue little, so that the first peer's bytes have nearly arrived when the next peer's begin. */
static bool is_too_early(const tutti_op *op, const tutti_op *first)
{
    if (op->stage <= first->stage || (first->launched && has_landed(first))) return false;
    if (first->wire->row->has_room) (void)first->wire->row->has_room(first->wire, first->peer);
    return true;
}

/* Launches puts and signals over the wire before earlier ones have ended: a put only reads, and a signal is not seen
 * before earlier bytes to the same peer have landed. A signal waits behind puts to other peers, because it says that
 * their sources are free, and behind puts that have not wholly started. */
static bool launch_ahead(tutti_exchange *x, const tutti_sequence *sequence)
{
    bool moved = false, behind = false;
    const int32_t first = x->ops[sequence->ops[sequence->at]].peer;
    for (int32_t i = sequence->at; i < sequence->nops; i++) {
        tutti_op *op = &x->ops[sequence->ops[i]];
        behind |= op->peer != first;
        if (!op->wire || (!op->launched && !may_start(x, op))) break;
        if (op->launched) continue;
        if (behind && is_too_early(op, &x->ops[sequence->ops[sequence->at]])) break;
        if (behind && op->kind == TUTTI_STEP_SIGNAL) break;
        moved |= launch(x, op);
        behind |= !op->launched;
    }
    return moved;
}

/* Ends the flights of a step. */
static step_progress end_flight(tutti_op *op)
{
    for (int i = 0; i < TUTTI_MOST_PIECES; i++) {
        tutti_put_release(op->flights[i]);
        op->flights[i] = NULL;
    }
    op->cursor = 0;
    op->launched = false;
    return STEP_DONE;
}

/* Holds the step if the peer marks the invocation with another call number; then no memory of the peer is touched.
 * Invocations use two words in turn, so the peer overwrites this word only after it has sent all signals of the next
 * invocation. Signals of far peers carry no call number. */
static step_progress check_call(tutti_exchange *x, const tutti_op *op)
{
    if (atomic_load_explicit(op->counter + 1 + x->invocation % 2, memory_order_acquire) == x->call) return STEP_DONE;
    const uint64_t told = atomic_load_explicit(op->counter, memory_order_relaxed);
    if (told >= ((uint64_t)x->invocation + 2) * op->each || !tutti_group_is_near(x->group, op->peer)) return STEP_DONE;
    x->stuck = true;
    x->stranger = op->peer;
    return STEP_HELD;
}

static step_progress run_op(tutti_exchange *x, tutti_op *op)
{
    if (op->wire) return end_flight(op);
    if (x->delay_us) delay(x, op);
    switch (op->kind) {
    case TUTTI_STEP_SIGNAL:
        atomic_store_explicit(op->counter + 1 + x->invocation % 2, x->call, memory_order_release);
        atomic_store(op->counter, (uint64_t)x->invocation * op->each + op->ordinal);
        tutti_group_ring(x->group, op->peer);
        return STEP_DONE;
    case TUTTI_STEP_REDUCE:
    case TUTTI_STEP_COPY: return move_data(x, op);
    case TUTTI_STEP_WAIT: x->has_waited = x->timed; return check_call(x, op);
    default: return STEP_DONE;
    }
}

/* Divides one block of the sums, which makes them averages; returns true when all sums are divided. */
static bool average_block(tutti_exchange *x)
{
    const int64_t bytes = (int64_t)x->vector.bytes, left = x->naverage - x->averaged;
    const int64_t n = left * bytes <= TUTTI_BLOCK || !x->device->shares_host ? left : TUTTI_BLOCK / bytes;
    x->device->average(x->device, x->type, x->average + x->averaged * bytes, n, x->nmembers);
    x->averaged += n;
    if (x->averaged < x->naverage) return false;
    settle(x);
    x->averaged = 0;
    return true;
}

static void begin(tutti_exchange *x)
{
    x->remaining = x->nops;
    x->has_waited = false, x->met_ns = 0;
    x->stores.worked_s = x->stats.work_s;
    if (x->timed) x->began_ns = tutti_clock_ns(), x->worked_s = x->stats.work_s;
    for (int32_t q = 0; q < x->nsequences; q++) x->sequences[q].at = 0;
    atomic_store_explicit(x->started, (uint64_t)x->invocation + 1, memory_order_relaxed);
}

static void end_timing(tutti_exchange *x)
{
    x->stats.done_ns = tutti_clock_ns();
    x->stats.met_s += 1e-9 * (double)(x->stats.done_ns - (x->met_ns ? x->met_ns : x->began_ns));
}

static void end(const tutti_exchange *x)
{
    tutti_flight_done(x->group->flight, x->noted);
    if (x->sleeper) pthread_cond_signal(x->sleeper);
}

/* Calls the act of x if x follows another exchange, and makes x ready; returns true if that happened now. */
static bool follow(tutti_exchange *x)
{
    const unsigned others = TUTTI_WHEN_FREE;
    if (!x->first || !x->active || x->when & TUTTI_WHEN_READY || others & ~x->when) return false;
    if (x->first->invocation <= x->invocation) return false;
    x->act(x->act_arg, tutti_driver_is_running(x->group));
    x->when |= TUTTI_WHEN_READY;
    if (x->timed) x->stats.told_ns = tutti_clock_ns();
    return true;
}

bool tutti_exchange_advance(tutti_exchange *x)
{
    bool moved = follow(x), again = true;
    while (again && x->remaining > 0) {
        again = false;
        for (int32_t q = 0; q < x->nsequences; q++) {
            tutti_sequence *sequence = &x->sequences[q];
            while (sequence->at < sequence->nops) {
                tutti_op *op = &x->ops[sequence->ops[sequence->at]];
                if (op->wire) moved |= launch_ahead(x, sequence);
                if (!may_start(x, op) || (op->wire && !op->launched)) break;
                const step_progress progress = run_op(x, op);
                if (progress == STEP_HELD) return moved;
                moved = true;
                /* the step is not done: after one block the caller gets a turn for other work */
                if (progress == STEP_GOES_ON) return true;
                op->done = x->invocation + 1;
                sequence->at++;
                x->remaining--;
                again = x->nsequences > 1; /* a step of another sequence may wait for this step, so look at all
                                            * sequences again */
            }
        }
    }
    if (x->remaining == 0 && x->active) {
        /* the callback must run in the caller's own thread */
        if (x->again && tutti_driver_is_running(x->group)) return moved;
        if (x->naverage && !average_block(x)) return true;
        x->invocation++;
        x->stats.invocations++;
        if (x->timed) end_timing(x);
        if (x->stores.left > 0) tutti_stores_record(x, x->stats.work_s - x->stores.worked_s);
        x->active = x->again && x->again(x->again_arg);
        if (x->active)
            begin(x);
        else
            end(x);
        return true;
    }
    return moved;
}

/* Drives the exchanges, for as many turns as exchanges are active. Exchanges of equal priority take one turn each.
 * While one of them moves anything, exchanges of lower priority get no turn. */
bool tutti_exchange_advance_all(tutti_group *group)
{
    bool moved = group->wire && group->wire->row->progress(group->wire);
    int turns = 0;
    for (tutti_exchange *x = group->exchanges; x; x = x->next) turns += x->active;
    for (tutti_exchange *first = group->exchanges, *x; first; first = x) {
        bool again = false;
        for (x = first; x && x->priority == first->priority; x = x->next) {
            if (!x->active) continue;
            if (turns-- == 0) return moved;
            again |= tutti_exchange_advance(x);
            moved |= again;
        }
        if (again && x) x = first;
    }
    return moved;
}

/* Gives x its turn, unless a more urgent exchange can use it. */
static void take_turn(tutti_exchange *x)
{
    for (tutti_exchange *sooner = x->group->exchanges; sooner->priority < x->priority; sooner = sooner->next)
        if (sooner->active && tutti_exchange_advance(sooner)) return;
    tutti_exchange_advance(x);
}

static void start(tutti_exchange *x, unsigned when)
{
    x->active = true;
    x->when = when;
    begin(x);
    if (x->timed) x->stats.told_ns = tutti_clock_ns();
    const int64_t invocation = x->invocation;
    x->noted = tutti_flight_noted(x->group->flight);
    take_turn(x);
    /* Notes the start now, while the peers' answers are on their way. */
    tutti_flight_record *record = tutti_flight_note(x->group->flight, TUTTI_FLIGHT_START, x->name,
                                                    (tutti_flight_what){invocation, -1, -1, x->stats.bytes_written});
    tutti_flight_set_done(record, !x->active);
}

void tutti_exchange_start(tutti_exchange *x, unsigned when)
{
    tutti_group_lock(x->group);
    start(x, when);
    tutti_group_unlock(x->group);
    tutti_driver_kick(x->group);
}

void tutti_exchange_start_if(tutti_exchange *x, unsigned when, bool (*may)(void *arg), void *arg)
{
    tutti_group_lock(x->group);
    if (may(arg)) start(x, when);
    tutti_group_unlock(x->group);
    tutti_driver_kick(x->group);
}

void tutti_exchange_call(tutti_exchange *x, uint64_t call)
{
    x->call = call;
}

void tutti_exchange_on_done(tutti_exchange *x, bool (*again)(void *arg), void *arg)
{
    x->again = again;
    x->again_arg = arg;
}

void tutti_exchange_follow(tutti_exchange *x, tutti_exchange *first, void (*act)(void *arg, bool beside), void *arg)
{
    tutti_group_lock(x->group);
    x->first = first;
    x->act = act;
    x->act_arg = arg;
    tutti_group_unlock(x->group);
}

void tutti_exchange_tell(tutti_exchange *x, unsigned when)
{
    tutti_group_lock(x->group);
    x->when |= when;
    if (x->active) {
        if (x->timed) x->stats.told_ns = tutti_clock_ns();
        take_turn(x);
    }
    tutti_group_unlock(x->group);
    tutti_driver_kick(x->group);
}

void tutti_exchange_delay(tutti_exchange *x, uint64_t seed, int32_t most_us)
{
    x->delay_seed = seed;
    x->delay_us = most_us;
}

void tutti_exchange_progress(tutti_group *group)
{
    tutti_group_lock(group);
    tutti_exchange_advance_all(group);
    tutti_group_unlock(group);
    if (tutti_clock_ns() - group->last_watch_ns > TUTTI_WATCH_NS) tutti_group_watch(group);
}
