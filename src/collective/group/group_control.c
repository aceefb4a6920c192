/* SPDX-License-Identifier: Apache-2.0 */
/* group_control.c: control calls over TCP through rank 0: barrier, broadcast, gathering and agreement.
 *
 * One mechanism: every rank sends one frame to rank 0, which compares kind, ordinal and name, works out the answer and
 * sends it to all. Each rank counts its calls on the board. So a rank whose deadline passes can name the ranks that
 * never came. In a group that survives deaths, rank 0 waits for no rank that is gone, and lists the gone ranks in the
 * answer, so that all living ranks agree. A frame that a rank sent before it died still counts in that call; the next
 * call lists the rank as gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/text/strbuf.h"
#include "flight.h"
#include "group_impl.h"

typedef struct {
    tutti_frame_kind kind;
    const char *what;
    const void *own; /* bytes that this rank contributes */
    size_t nown;
    int root; /* the rank that sends in a broadcast */
} control_call;

typedef struct {
    uint32_t status;
    char *bytes; /* answer of rank 0, which the caller gives to free() */
    size_t nbytes;
} control_reply;

static const char *kind_name(uint32_t kind)
{
    switch (kind) {
    case TUTTI_FRAME_BARRIER: return "barrier";
    case TUTTI_FRAME_BROADCAST: return "broadcast";
    case TUTTI_FRAME_GATHER: return "all-gather";
    case TUTTI_FRAME_AGREE: return "agreement";
    default: return "message";
    }
}

/* --- failures --- */

void tutti_group_list_absent(const tutti_group *g, tutti_strbuf *out)
{
    const size_t before = out->length;
    for (int r = 0; r < g->nranks; r++) {
        const tutti_peer *p = &g->peers[r];
        if (r == g->rank || tutti_group_is_gone(g, r) || (p->board && atomic_load(&p->board->entered) >= g->calls))
            continue;
        if (!p->board && (p->arrived.body || tutti_group_is_waiting(g, r))) continue;
        tutti_strbuf_printf(out, "%s%s%s", out->length > before ? ", " : "", p->describe, tutti_peer_condition(g, r));
    }
    /* no rank is absent: some ranks began the call and then stopped, so list these */
    if (out->length == before) tutti_group_list_still(g, out);
    if (out->length == before)
        tutti_strbuf_printf(out, "nobody: %s is missing, which has begun the call%s", g->peers[g->call_from].describe,
                            tutti_peer_condition(g, g->call_from));
}

static tutti_status fail_late(tutti_group *g, const control_call *c, tutti_failure *err)
{
    tutti_strbuf absent = {0};
    tutti_group_list_absent(g, &absent);
    char words[TUTTI_WORDS];
    snprintf(words, sizeof words, "%s: %s '%s': the deadline of %g s has passed; not arrived: %s",
             g->peers[g->rank].describe, kind_name(c->kind), c->what, g->deadline_s, absent.text);
    tutti_strbuf_release(&absent);
    tutti_group_dump_all(g, words);
    tutti_group_set_failed(g, -1, TUTTI_ERR_PEER, words);
    return tutti_group_report(g, err);
}

static void describe_wait(const tutti_group *g, const control_call *c, tutti_patience *patience,
                          char words[TUTTI_WORDS])
{
    tutti_strbuf absent = {0};
    tutti_group_list_absent(g, &absent);
    snprintf(words, TUTTI_WORDS, "%s waits in %s '%s'; not arrived: %s", g->peers[g->rank].describe, kind_name(c->kind),
             c->what, absent.text);
    tutti_strbuf_release(&absent);
    patience->stopped = tutti_group_has_stopped(g);
}

/* Waits for a message of the mesh, which knows the cause better than a closed control socket does. The message may come
 * a moment later, because a dying process closes its sockets one by one. */
static void watch_for_reason(tutti_group *g, int from)
{
    const double until = tutti_clock_s() + 0.2;
    do tutti_group_sleep(g, NULL, 0, 0.01, NULL, NULL);
    while (!g->failed && g->peers[from].state == TUTTI_PEER_HERE && tutti_clock_s() < until);
}

/* Handles a rank that sends nothing any more; TUTTI_OK: the group continues without the rank. */
static tutti_status lose(tutti_group *g, const control_call *c, int from, tutti_failure *err)
{
    char words[TUTTI_WORDS];
    watch_for_reason(g, from);
    if (g->failed || tutti_group_is_gone(g, from)) return tutti_group_report(g, err);
    const bool left = g->peers[from].state == TUTTI_PEER_LEFT;
    snprintf(words, sizeof words,
             left ? "%s: %s '%s': %s has left the group" : "%s: %s '%s': the connection to %s has closed",
             g->peers[g->rank].describe, kind_name(c->kind), c->what, g->peers[from].describe);
    if (tutti_group_does_without(g, from))
        tutti_group_record_gone(g, from, words);
    else
        tutti_group_set_failed(g, left ? -1 : from, TUTTI_ERR_PEER, words);
    return tutti_group_report(g, err);
}

/* Waits until fd is readable. Exchanges in flight make progress meanwhile, because a peer may have to complete them
 * before it can join the call. */
static tutti_status await_readable(tutti_group *g, const control_call *c, int from, tutti_patience *patience,
                                   tutti_failure *err)
{
    char words[TUTTI_WORDS] = "";
    if (tutti_patience_asks(g, patience)) describe_wait(g, c, patience, words);
    double left = tutti_patience_left(g, patience, words);
    if (left <= 0) return fail_late(g, c, err);
    struct pollfd wait = {.fd = g->peers[from].control, .events = POLLIN};
    if (g->traffic && !g->driver) g->traffic->advance(g);
    /* poll is no snapshot: it may check the control socket before the answer comes, and then find the goodbye that was
     * sent later. Only a rank that had left before the poll is waited for in vain. */
    const bool had_left = g->peers[from].state == TUTTI_PEER_LEFT;
    tutti_group_sleep(g, &wait, 1, left < 1 ? left : 1, NULL, NULL);
    if (g->failed) return tutti_group_report(g, err);
    return !wait.revents && had_left ? lose(g, c, from, err) : TUTTI_OK;
}

/* Receives the frame of rank `from`; f stays empty if the rank is gone. */
static tutti_status receive_frame(tutti_group *g, const control_call *c, int from, tutti_frame *f,
                                  tutti_patience *patience, tutti_failure *err)
{
    tutti_peer *p = &g->peers[from];
    g->call_from = from;
    for (;;) {
        const bool open = tutti_star_drain(g, from);
        if (p->arrived.body) {
            *f = p->arrived;
            p->arrived = (tutti_frame){0};
            return TUTTI_OK;
        }
        if (tutti_group_is_gone(g, from)) return TUTTI_OK;
        const tutti_status st = open ? await_readable(g, c, from, patience, err) : lose(g, c, from, err);
        if (st) return st;
    }
}

/* --- what rank 0 does --- */

static void reply_text(control_reply *reply, tutti_status st, tutti_strbuf *text)
{
    free(reply->bytes);
    reply->status = st;
    reply->nbytes = text->length;
    reply->bytes = tutti_strbuf_detach(text);
}

/* Compares kind, ordinal, name and size of all frames; the first difference becomes the answer. */
static bool frames_match(const tutti_group *g, const control_call *c, const tutti_frame *frames, control_reply *reply)
{
    for (int r = 1; r < g->nranks; r++) {
        const tutti_frame_head *h = &frames[r].head;
        bool size = c->kind != TUTTI_FRAME_GATHER || h->nbytes == c->nown;
        if (!frames[r].body) continue;
        if (h->kind == c->kind && h->call == g->calls && !strcmp(h->what, c->what) && size) continue;
        tutti_strbuf text = {0};
        tutti_strbuf_printf(
            &text,
            "the ranks are not doing the same: %s is in its control call %llu, %s '%s' with %zu bytes, but "
            "%s in its call %llu, %s '%s' with %u bytes",
            g->peers[0].describe, (unsigned long long)g->calls, kind_name(c->kind), c->what, c->nown,
            g->peers[r].describe, (unsigned long long)h->call, kind_name(h->kind), h->what, h->nbytes);
        reply_text(reply, TUTTI_ERR_RENDEZVOUS, &text);
        return false;
    }
    return true;
}

static void answer_agreement(const tutti_group *g, const control_call *c, const tutti_frame *frames,
                             control_reply *reply)
{
    for (int r = 1; r < g->nranks; r++) {
        const tutti_frame *f = &frames[r];
        if (!f->body || (f->head.nbytes == c->nown && !memcmp(f->body, c->own, c->nown))) continue;
        tutti_strbuf text = {0};
        tutti_strbuf_printf(&text, "%s: the ranks disagree: %s has '%.300s', %s has '%.300s'", c->what,
                            g->peers[0].describe, (const char *)c->own, g->peers[r].describe, f->body);
        reply_text(reply, TUTTI_ERR_RENDEZVOUS, &text);
        return;
    }
}

static void answer_of_the_gone(const tutti_group *g, const control_call *c, control_reply *reply)
{
    tutti_strbuf text = {0};
    tutti_strbuf_printf(&text, "broadcast '%s': %s", c->what, tutti_group_last_words(g, c->root));
    reply_text(reply, TUTTI_ERR_PEER, &text);
}

static void answer(const tutti_group *g, const control_call *c, const tutti_frame *frames, control_reply *reply)
{
    if (!frames_match(g, c, frames, reply)) return;
    if (c->kind == TUTTI_FRAME_AGREE) answer_agreement(g, c, frames, reply);
    if (c->kind == TUTTI_FRAME_BROADCAST && c->root && !frames[c->root].body) {
        answer_of_the_gone(g, c, reply);
    } else if (c->kind == TUTTI_FRAME_BROADCAST) {
        reply->nbytes = c->root == 0 ? c->nown : frames[c->root].head.nbytes;
        reply->bytes = tutti_alloc(reply->nbytes + 1);
        memcpy(reply->bytes, c->root == 0 ? c->own : frames[c->root].body, reply->nbytes);
    }
    if (c->kind == TUTTI_FRAME_GATHER) {
        reply->nbytes = c->nown * (size_t)g->nranks;
        reply->bytes = tutti_alloc(reply->nbytes + 1);
        for (int r = 0; r < g->nranks; r++)
            if (r == 0 || frames[r].body)
                memcpy(reply->bytes + c->nown * (size_t)r, r == 0 ? c->own : frames[r].body, c->nown);
    }
}

/* Reads which ranks are gone from the end of an answer: one byte for each rank. */
static void take_list(tutti_group *g, const char *gone)
{
    for (int r = 0; r < g->nranks; r++) {
        g->peers[r].listed = gone[r];
        if (gone[r] && r != g->rank) tutti_group_record_gone(g, r, "rank 0 says that it is gone");
    }
}

static void append_list(tutti_group *g, const tutti_frame *frames, control_reply *reply)
{
    const size_t nranks = (size_t)g->nranks;
    reply->bytes = tutti_realloc(reply->bytes, reply->nbytes + nranks + 1);
    char *gone = reply->bytes + reply->nbytes;
    for (int r = 0; r < g->nranks; r++) gone[r] = r > 0 && !frames[r].body;
    take_list(g, gone);
    reply->nbytes += nranks;
}

static void fill_head(const tutti_group *g, tutti_frame_head *h, tutti_frame_kind kind, const char *what, size_t nbytes)
{
    *h = (tutti_frame_head){.magic = TUTTI_FRAME_MAGIC,
                            .epoch = g->epoch,
                            .kind = kind,
                            .rank = g->rank,
                            .call = g->calls,
                            .nbytes = (uint32_t)nbytes};
    snprintf(h->what, sizeof h->what, "%s", what);
}

static tutti_status call_as_zero(tutti_group *g, const control_call *c, control_reply *reply, tutti_failure *err)
{
    tutti_frame *frames = tutti_alloc(sizeof *frames * (size_t)g->nranks);
    tutti_patience patience;
    tutti_patience_begin(g, &patience);
    tutti_status st = TUTTI_OK;
    for (int r = 1; r < g->nranks && !st; r++) st = receive_frame(g, c, r, &frames[r], &patience, err);
    if (!st) {
        answer(g, c, frames, reply);
        const bool lists = g->lists && !reply->status;
        if (lists) append_list(g, frames, reply);
        tutti_frame_head head;
        fill_head(g, &head, lists ? TUTTI_FRAME_REPLY_OF_LIVING : TUTTI_FRAME_REPLY, c->what, reply->nbytes);
        head.status = reply->status;
        /* A write that fails is ignored: the next watch finds a peer that has died since. */
        for (int r = 1; r < g->nranks; r++)
            if (frames[r].body) tutti_star_write(g, r, &head, reply->bytes);
        if (lists) reply->nbytes -= (size_t)g->nranks;
    }
    for (int r = 1; r < g->nranks; r++) tutti_frame_release(&frames[r]);
    free(frames);
    return st;
}

/* --- what the other ranks do --- */

static tutti_status call_as_other(tutti_group *g, const control_call *c, control_reply *reply, tutti_failure *err)
{
    tutti_frame_head head;
    tutti_frame f = {0};
    tutti_patience patience;
    tutti_patience_begin(g, &patience);
    fill_head(g, &head, c->kind, c->what, c->nown);
    /* a failed write means that rank 0 is gone; the read below reports that with better words */
    tutti_star_write(g, 0, &head, c->own);
    tutti_status st = receive_frame(g, c, 0, &f, &patience, err);
    if (st) {
        tutti_frame_release(&f);
        return st;
    }
    *reply = (control_reply){f.head.status, f.body, f.head.nbytes};
    if (f.head.kind == TUTTI_FRAME_REPLY_OF_LIVING && reply->nbytes >= (size_t)g->nranks) {
        reply->nbytes -= (size_t)g->nranks;
        take_list(g, reply->bytes + reply->nbytes);
    }
    return TUTTI_OK;
}

/* Begins a control call. Its name is cut to the length that frames have room for, because ranks compare the names. */
static void begin_call(tutti_group *g, control_call *c)
{
    tutti_board *board = g->peers[g->rank].board;
    snprintf(g->call_what, sizeof g->call_what, "%s", c->what);
    c->what = g->call_what;
    g->call_kind = kind_name(c->kind);
    g->calls++;
    if (board) atomic_store(&board->entered, g->calls);
    tutti_flight_note(g->flight, TUTTI_FLIGHT_CALL, g->call_what,
                      (tutti_flight_what){(int64_t)g->calls, -1, -1, (int64_t)c->nown});
}

static tutti_status call(tutti_group *g, control_call c, control_reply *reply, tutti_failure *err)
{
    *reply = (control_reply){0};
    tutti_group_watch(g); /* a rank that has ended the epoch must not take part, or the others would complete the call
                           * without it */
    if (g->failed) return tutti_group_report(g, err);
    begin_call(g, &c);
    tutti_status st = g->rank == 0 ? call_as_zero(g, &c, reply, err) : call_as_other(g, &c, reply, err);
    tutti_flight_note(g->flight, TUTTI_FLIGHT_ANSWER, g->call_what, (tutti_flight_what){(int64_t)g->calls, -1, -1, 0});
    g->call_kind = NULL;
    if (!st && reply->status) {
        st = tutti_fail(err, (tutti_status)reply->status, "%s", reply->bytes);
        free(reply->bytes);
        reply->bytes = NULL;
    }
    return st;
}

/* --- the control calls --- */

tutti_status tutti_group_barrier(tutti_group *g, const char *what, tutti_failure *err)
{
    control_reply reply;
    if (g->nranks == 1) return TUTTI_OK;
    tutti_status st = call(g, (control_call){.kind = TUTTI_FRAME_BARRIER, .what = what}, &reply, err);
    free(reply.bytes);
    return st;
}

tutti_status tutti_group_broadcast(tutti_group *g, const char *what, int root, void *bytes, size_t nbytes,
                                   tutti_failure *err)
{
    control_reply reply;
    if (g->nranks == 1) return TUTTI_OK;
    if (nbytes > TUTTI_FRAME_MAX) return tutti_fail(err, TUTTI_ERR_USAGE, "broadcast '%s': %zu bytes", what, nbytes);
    control_call c = {.kind = TUTTI_FRAME_BROADCAST, .what = what, .root = root};
    if (g->rank == root) c.own = bytes, c.nown = nbytes;
    tutti_status st = call(g, c, &reply, err);
    if (!st && reply.nbytes != nbytes)
        st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "broadcast '%s': %s sends %zu bytes, %s expects %zu", what,
                        g->peers[root].describe, reply.nbytes, g->peers[g->rank].describe, nbytes);
    if (!st && g->rank != root) memcpy(bytes, reply.bytes, nbytes);
    free(reply.bytes);
    return st;
}

tutti_status tutti_group_all_gather(tutti_group *g, const char *what, const void *own, void *all, size_t nbytes,
                                    tutti_failure *err)
{
    control_reply reply;
    if (g->nranks == 1) {
        memcpy(all, own, nbytes);
        return TUTTI_OK;
    }
    if (nbytes > (size_t)TUTTI_FRAME_MAX / (size_t)g->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "all-gather '%s': %zu bytes a rank", what, nbytes);
    tutti_status st =
        call(g, (control_call){.kind = TUTTI_FRAME_GATHER, .what = what, .own = own, .nown = nbytes}, &reply, err);
    if (!st) memcpy(all, reply.bytes, nbytes * (size_t)g->nranks);
    free(reply.bytes);
    return st;
}

tutti_status tutti_group_agree(tutti_group *g, const char *what, const char *value, tutti_failure *err)
{
    control_reply reply;
    if (g->nranks == 1) return TUTTI_OK;
    control_call c = {.kind = TUTTI_FRAME_AGREE, .what = what, .own = value, .nown = strlen(value) + 1};
    if (c.nown > TUTTI_FRAME_MAX) return tutti_fail(err, TUTTI_ERR_USAGE, "agree '%s': the value is too long", what);
    tutti_status st = call(g, c, &reply, err);
    free(reply.bytes);
    return st;
}

tutti_status tutti_group_all_ready(tutti_group *g, const char *what, tutti_status own, tutti_failure *err)
{
    uint32_t mine = own, *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    tutti_status st = tutti_group_all_gather(g, what, &mine, all, sizeof mine, own ? NULL : err);
    for (int r = 0; r < g->nranks && !st && !own; r++)
        if (all[r]) st = tutti_fail(err, (tutti_status)all[r], "%s", "");
    free(all);
    return own ? own : st;
}

tutti_status tutti_group_tell_failure(tutti_group *g, const char *what, int first, const tutti_failure *own,
                                      tutti_failure *err)
{
    struct {
        uint32_t status;
        char words[400];
    } said = {0};
    if (g->rank == first) {
        said.status = own->status;
        snprintf(said.words, sizeof said.words, "%.390s", own->text);
    }
    const tutti_status st = tutti_group_broadcast(g, what, first, &said, sizeof said, err);
    return st ? st : tutti_fail(err, (tutti_status)said.status, "%s", said.words);
}

/* Messages of failures are gathered only after a failure: to send 400 bytes of each of 300 ranks to every rank took 36
 * MB per call. */
tutti_status tutti_group_all_well(tutti_group *g, const char *what, tutti_status own, tutti_failure *err)
{
    uint32_t mine = own, *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    tutti_failure found = {0}, mine_words = {.status = own};
    int first = 0;
    if (own && err) mine_words = *err;
    tutti_status st = tutti_group_all_gather(g, what, &mine, all, sizeof mine, &found);
    while (!st && first < g->nranks && !all[first]) first++;
    if (!st && first < g->nranks) st = tutti_group_tell_failure(g, what, first, &mine_words, &found);
    free(all);
    if (st && !own) tutti_fail(err, st, "%s", found.text);
    return own ? own : st;
}
