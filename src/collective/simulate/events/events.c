/* SPDX-License-Identifier: Apache-2.0 */
/* events.c: the event player: a heap has the time at which each rank's player wants to be called next, and the flows
 * know when the next message ends. The earliest of these events is played next. */
#include "events.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../base/arena.h"
#include "../engines/actor_player.h"
#include "../engines/actor_read.h"
#include "../engines/actor_writer.h"
#include "../simulate_impl.h"
#include "flows.h"

/* A message that was sent, or a receive that wants one. */
typedef struct {
    int32_t rank, tag; /* tag: number by which the rank's player is told of the end; -1: no player is told */
    int32_t next;      /* next post of the queue, -1 = none */
    double bytes;
} post;

typedef struct {
    int32_t first, last; /* first and last entry of a queue: indices of posts; -1 = none */
} queue;

typedef struct {
    queue sent, wanted; /* sent messages and waiting receives, both in the order of the line */
    int32_t left;       /* parts of the first sent message that still travel; 0 = that message does not travel */
    int32_t arrived;    /* signals that no wait has taken yet */
} line;

typedef struct {
    int32_t rank, tag;
} ended;

typedef struct events {
    const tutti_actor_problem *p;
    tutti_flows *flows; /* routes: first nparts of each line, then one for each load */
    tutti_actor_player *players;
    struct end {
        struct events *events;
        int32_t rank;
    } * ends; /* for each rank: the argument that its player passes to the transport's functions */
    line *lines;
    ended *load_of; /* for each load that travels: the rank and tag that are reported to the rank's player when it
                     * ends */
    post *posts;
    int32_t nposts, post_room, free_post;
    ended *over; /* ended messages and loads that the players do not know of yet */
    int32_t nover, over_room;
    tutti_due_heap next; /* heap of the times at which the ranks' players want to be called next */
    double *due;         /* for each rank: its newest time in the heap; older entries are skipped */
    double now;
    int32_t nopen;
} events;

static void queue_add(events *e, queue *q, post of)
{
    int32_t i = e->free_post;
    if (i >= 0) {
        e->free_post = e->posts[i].next;
    } else {
        i = e->nposts++;
        e->posts = tutti_grow(e->posts, i, &e->post_room, sizeof *e->posts);
    }
    e->posts[i] = of;
    e->posts[i].next = -1;
    if (q->first < 0)
        q->first = i;
    else
        e->posts[q->last].next = i;
    q->last = i;
}

static post queue_take(events *e, queue *q)
{
    const int32_t i = q->first;
    const post out = e->posts[i];
    q->first = out.next;
    e->posts[i].next = e->free_post;
    e->free_post = i;
    return out;
}

static void tell(events *e, int32_t rank, int32_t tag)
{
    e->over = tutti_grow(e->over, e->nover, &e->over_room, sizeof *e->over);
    e->over[e->nover++] = (ended){rank, tag};
}

static double part_bytes(const events *e, double bytes, int32_t part)
{
    const int64_t n = (int64_t)bytes, nparts = e->p->head->nparts;
    return (double)(n * (part + 1) / nparts - n * part / nparts);
}

/* Ends a part of a message: the receiver's player hears of the end of each part, the sender's player of the last
 * part. */
static void line_ended(events *e, int32_t at)
{
    line *l = &e->lines[at];
    const bool eager = e->p->lines[at].eager;
    if (!eager) tell(e, e->posts[l->wanted.first].rank, e->posts[l->wanted.first].tag);
    if (--l->left) return;
    const post sent = queue_take(e, &l->sent);
    if (!eager) {
        queue_take(e, &l->wanted);
        tell(e, sent.rank, sent.tag);
        return;
    }
    l->arrived++;
}

/* Ends the waits of a line for which signals have arrived. */
static void hand_over(events *e, int32_t at)
{
    line *l = &e->lines[at];
    for (; l->arrived && l->wanted.first >= 0; l->arrived--) {
        const post wanted = queue_take(e, &l->wanted);
        for (int32_t part = 0; part < e->p->head->nparts; part++) tell(e, wanted.rank, wanted.tag);
    }
}

/* Starts the next messages of a line that can travel. */
static void line_go(events *e, int32_t at)
{
    const int32_t nparts = e->p->head->nparts;
    line *l = &e->lines[at];
    hand_over(e, at);
    while (!l->left && l->sent.first >= 0 && (e->p->lines[at].eager || l->wanted.first >= 0)) {
        const double bytes = e->posts[l->sent.first].bytes;
        l->left = nparts;
        for (int32_t part = 0; part < nparts; part++)
            if (!tutti_flows_send(e->flows, (int64_t)at * nparts + part, part_bytes(e, bytes, part), e->now))
                line_ended(e, at);
        hand_over(e, at);
    }
}

static void wire_send(void *with, int32_t at, double bytes, int32_t tag)
{
    const struct end *end = with;
    queue_add(end->events, &end->events->lines[at].sent, (post){end->rank, tag, -1, bytes});
    line_go(end->events, at);
}

static void wire_receive(void *with, int32_t at, int32_t tag)
{
    const struct end *end = with;
    queue_add(end->events, &end->events->lines[at].wanted, (post){end->rank, tag, -1, 0});
    line_go(end->events, at);
}

static void wire_signal(void *with, int32_t at, double bytes)
{
    wire_send(with, at, bytes, -1);
}

static void wire_load(void *with, const tutti_actor_load *load, int32_t tag)
{
    const struct end *end = with;
    events *e = end->events;
    const int64_t i = load - e->p->loads;
    e->load_of[i] = (ended){end->rank, tag};
    if (!tutti_flows_send(e->flows, e->p->head->nlines * e->p->head->nparts + i, load->bytes, e->now))
        tell(e, end->rank, tag);
}

static const tutti_actor_wire wire = {
    .send = wire_send, .receive = wire_receive, .signal = wire_signal, .load = wire_load};

static void rank_go(events *e, int32_t rank, double *rank_s)
{
    tutti_actor_player *q = &e->players[rank];
    if (!q->nopen) return;
    e->due[rank] = tutti_actor_player_go(q, e->now);
    if (e->due[rank] < INFINITY) tutti_due_heap_add(&e->next, (tutti_due){e->due[rank], rank});
    if (q->nopen) return;
    e->nopen--;
    if (rank_s) rank_s[rank] = e->now;
}

/* Moves on to the next event. False: there is none. */
static bool advance(events *e, double *rank_s)
{
    while (e->next.n && e->next.at[0].when != e->due[e->next.at[0].of]) tutti_due_heap_drop(&e->next);
    const double due = e->next.n ? e->next.at[0].when : INFINITY;
    if (tutti_flows_end_by(e->flows, due)) {
        double arrives;
        const int64_t route = tutti_flows_take(e->flows, &arrives), nlines = e->p->head->nlines * e->p->head->nparts;
        e->now = fmax(e->now, arrives - tutti_flows_latency(e->flows, route));
        if (route < nlines) {
            line_ended(e, (int32_t)(route / e->p->head->nparts));
            line_go(e, (int32_t)(route / e->p->head->nparts));
        } else {
            tell(e, e->load_of[route - nlines].rank, e->load_of[route - nlines].tag);
        }
        return true;
    }
    if (due == INFINITY) return false;
    const int32_t rank = (int32_t)e->next.at[0].of;
    tutti_due_heap_drop(&e->next);
    e->now = fmax(e->now, due);
    rank_go(e, rank, rank_s);
    return true;
}

/* Plays to the end. False: the schedule hangs. */
static bool play(events *e, double *rank_s)
{
    for (int32_t r = 0; r < e->p->head->nranks; r++) rank_go(e, r, rank_s);
    bool goes_on = true;
    while (goes_on && (e->nopen || e->nover)) {
        for (int32_t i = 0; i < e->nover; i++) { /* nover may grow in the loop, because ranks begin new messages */
            const ended of = e->over[i];
            tutti_actor_player_ended(&e->players[of.rank], of.tag, e->now);
            rank_go(e, of.rank, rank_s);
        }
        e->nover = 0;
        if (e->nopen) goes_on = advance(e, rank_s);
    }
    return goes_on;
}

static void events_begin(events *e, const tutti_actor_problem *p, const tutti_topology *t, uint8_t *done)
{
    const tutti_actor_head *h = p->head;
    const int64_t nlines = h->nlines * h->nparts, nroutes = nlines + h->nloads;
    tutti_flow_route *routes = tutti_alloc((size_t)(nroutes + 1) * sizeof *routes);
    *e = (events){.p = p, .free_post = -1};
    e->lines = tutti_alloc((size_t)(h->nlines + 1) * sizeof *e->lines);
    e->load_of = tutti_alloc((size_t)(h->nloads + 1) * sizeof *e->load_of);
    e->due = tutti_alloc((size_t)h->nranks * sizeof *e->due);
    for (int64_t i = 0; i < h->nlines; i++) e->lines[i] = (line){.sent = {-1, -1}, .wanted = {-1, -1}};
    for (int64_t i = 0; i < nlines; i++) {
        const tutti_actor_line *l = &p->lines[i / h->nparts];
        routes[i] = (tutti_flow_route){l->src, l->dst, l->channel * h->nparts + (int32_t)(i % h->nparts)};
    }
    for (int64_t i = 0; i < h->nloads; i++)
        routes[nlines + i] = (tutti_flow_route){p->loads[i].src, p->loads[i].dst, 0};
    e->flows = tutti_flows_create(t, h->nranks, routes, nroutes);
    e->players = tutti_alloc((size_t)h->nranks * sizeof *e->players);
    e->ends = tutti_alloc((size_t)h->nranks * sizeof *e->ends);
    for (int32_t r = 0; r < h->nranks; r++) {
        e->ends[r] = (struct end){e, r};
        tutti_actor_player_begin(p, r, done, &wire, &e->ends[r], &e->players[r]);
        e->nopen += e->players[r].nopen > 0;
    }
    free(routes);
}

static void events_end(events *e)
{
    for (int32_t r = 0; r < e->p->head->nranks; r++) tutti_actor_player_release(&e->players[r]);
    tutti_flows_destroy(e->flows);
    free(e->lines), free(e->load_of), free(e->due), free(e->players), free(e->ends);
    free(e->posts), free(e->over);
    tutti_due_heap_release(&e->next);
}

static tutti_status problem_play(const tutti_actor_problem *p, const tutti_topology *t, double *seconds, double *rank_s,
                                 tutti_failure *err)
{
    events e;
    tutti_status st = TUTTI_OK;
    uint8_t *done = tutti_alloc((size_t)p->head->nsteps + 1);
    if (rank_s) memset(rank_s, 0, (size_t)p->head->nranks * sizeof *rank_s);
    events_begin(&e, p, t, done);
    if (!play(&e, rank_s)) {
        int64_t r = 0;
        while (!e.players[r].nopen) r++;
        int64_t i = p->ranks[r].first_step;
        while (done[i]) i++;
        st = tutti_fail(err, TUTTI_ERR_FAILED, "events: the schedule hangs: rank %d never gets past a step of stage %d",
                        (int)r, (int)p->steps[i].stage);
    }
    *seconds = e.now;
    events_end(&e);
    free(done);
    return st;
}

tutti_status tutti_events_run(const tutti_playing *p, const double *late_s, double *seconds, double *rank_s,
                              tutti_failure *err)
{
    const tutti_topology *t = p->topology;
    const tutti_actor_options options = {.late_s = late_s, .most_messages = TUTTI_EVENTS_MESSAGES};
    tutti_actor_problem problem;
    char why[200];
    tutti_status st = tutti_simulate_fits(tutti_schedule_head(p->schedule), t, err);
    if (st != TUTTI_OK) return st;
    if (t->kind == TUTTI_TOPOLOGY_HOST)
        return tutti_fail(err, TUTTI_ERR_USAGE, "events: on a host the ranks' cores move the bytes; it plays networks");
    const int fd = memfd_create("tutti-events", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!file) return tutti_fail(err, TUTTI_ERR_FAILED, "events: no memory for messages: %s", strerror(errno));
    st = tutti_actor_write(p->schedule, t, p->n, &options, file, err);
    const off_t nbytes = st == TUTTI_OK ? lseek(fd, 0, SEEK_END) : 0;
    void *bytes = nbytes > 0 ? mmap(NULL, (size_t)nbytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (st == TUTTI_OK && bytes == MAP_FAILED)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "events: no memory for messages: %s", strerror(errno));
    if (st == TUTTI_OK && !tutti_actor_read(bytes, (size_t)nbytes, &problem, why))
        st = tutti_fail(err, TUTTI_ERR_FAILED, "events: %s", why);
    if (st == TUTTI_OK) st = problem_play(&problem, t, seconds, rank_s, err);
    if (bytes != MAP_FAILED) munmap(bytes, (size_t)nbytes);
    fclose(file);
    return st;
}
