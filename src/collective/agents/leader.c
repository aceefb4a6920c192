/* SPDX-License-Identifier: Apache-2.0 */
/* leader.c: what the leading agent does: it hears the others, sees which of them are lost, judges whether the epoch
 * goes on, and gives orders. leader_form.c decides on the next epoch. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "agents_impl.h"

static const double ALIVE_S = 0.3;

static tutti_agent_host *add_host(tutti_agents *a, int64_t id)
{
    a->hosts = tutti_realloc(a->hosts, sizeof *a->hosts * (size_t)(a->nknown + 1));
    tutti_agent_host *h = &a->hosts[a->nknown++];
    *h = (tutti_agent_host){.id = id, .talk.fd = -1, .heard_at = tutti_clock_s()};
    return h;
}

void tutti_agents_begin_to_lead(tutti_agents *a, bool took_over)
{
    a->role = TUTTI_AGENT_LEADS;
    a->began_at = tutti_clock_s();
    a->gathers = a->broken = a->hard = took_over;
    if (took_over) a->epoch++; /* the lost leader may have used this number for an epoch that nobody here knows */
    a->lost_ns = took_over ? tutti_clock_ns() : 0;
    tutti_agent_host *own = add_host(a, a->id);
    own->is_here = true;
    own->in_epoch = took_over;
    own->port = a->port;
    own->nlocal = a->options.nlocal;
    tutti_agents_try_lock(a);
    char text[TUTTI_AGENTS_TEXT];
    tutti_agents_join_text(a, text);
    if (took_over) tutti_agents_say(a, "this agent leads now; others join with --join %s", text);
}

void tutti_agents_end(tutti_agents *a, int code, const char *format, ...)
{
    va_list values;
    if (a->ending) return;
    va_start(values, format);
    vsnprintf(a->words, sizeof a->words, format, values);
    va_end(values);
    a->ending = true;
    a->code = code;
    if (a->words[0]) tutti_agents_say(a, "%s", a->words);
}

/* ---- hearing the others ---- */

static void accept_callers(tutti_agents *a)
{
    tutti_agent_caller caller;
    while (a->ncallers < TUTTI_AGENTS_MOST && tutti_agent_accept(a, &caller)) {
        caller.came_at = tutti_clock_s();
        a->callers = tutti_realloc(a->callers, sizeof *a->callers * (size_t)(a->ncallers + 1));
        a->callers[a->ncallers++] = caller;
    }
}

static void welcome(tutti_agents *a, tutti_agent_caller *caller)
{
    const tutti_agent_message *m = &caller->talk.in.message;
    if (m->kind != TUTTI_AGENT_HELLO || m->nlocal < 1 || m->port < 1 || a->nknown >= TUTTI_AGENTS_MOST) {
        tutti_agent_hang_up(&caller->talk);
        return;
    }
    if (m->job != a->options.job) {
        tutti_agent_refuse(a, &caller->talk, "its job is another one");
        return;
    }
    tutti_agent_host *h = add_host(a, m->id);
    h->port = m->port;
    h->nlocal = m->nlocal;
    memcpy(h->address, caller->address, sizeof h->address);
    h->in_epoch = a->gathers && tutti_agents_has(&a->newest, m->id);
    h->facts.epoch = m->epoch;
    if (a->gathers && m->epoch > a->epoch) a->epoch = m->epoch; /* so no epoch number is used twice */
    if (a->gathers && m->left < a->left) a->left = m->left;
    h->talk = caller->talk;
    caller->talk.fd = -1;
    if (a->epoch && !h->in_epoch) tutti_agents_say(a, "another host (%s) joins, with %d ranks", h->address, h->nlocal);
}

/* Lets callers say who they are, within the deadline: one that says nothing would keep a descriptor for ever. */
static void hear_callers(tutti_agents *a)
{
    const double oldest = tutti_clock_s() - a->options.deadline_s;
    int n = 0;
    for (int c = 0; c < a->ncallers; c++) {
        if (tutti_agent_receive(a, &a->callers[c].talk) > 0) welcome(a, &a->callers[c]);
        if (a->callers[c].came_at < oldest) tutti_agent_hang_up(&a->callers[c].talk);
        if (a->callers[c].talk.fd >= 0) a->callers[n++] = a->callers[c];
    }
    a->ncallers = n;
}

static void hear_host(tutti_agents *a, tutti_agent_host *h)
{
    const double now = tutti_clock_s();
    while (!h->is_here && tutti_agent_receive(a, &h->talk) > 0) {
        if (h->talk.in.message.kind == TUTTI_AGENT_REPORT) h->facts = h->talk.in.message.facts;
        h->heard_at = now;
    }
    if (h->is_here || h->is_lost) return;
    h->is_lost = h->talk.fd < 0 || now - h->heard_at > a->options.deadline_s;
    if (!h->is_lost) return;
    if (!a->ending && !a->finishing)
        tutti_agents_say(a, "the agent of host %s %s", h->address,
                         h->talk.fd < 0 ? "was lost" : "is silent: it counts as lost");
    tutti_agent_hang_up(&h->talk);
}

/* Removes lost hosts that are not in the current epoch. */
static void forget(tutti_agents *a)
{
    int n = 0;
    for (int i = 0; i < a->nknown; i++)
        if (!a->hosts[i].is_lost || a->hosts[i].in_epoch) a->hosts[n++] = a->hosts[i];
    a->nknown = n;
}

/* ---- judging ---- */

static void break_epoch(tutti_agents *a, int lost, bool hard)
{
    a->hard |= hard;
    if (a->broken) return;
    a->broken = true;
    a->lost = lost;
    a->lost_ns = tutti_clock_ns();
    a->began_at = tutti_clock_s();
}

static void judge_host(tutti_agents *a, tutti_agent_host *h)
{
    const tutti_launch_facts *f = &h->facts;
    if (h->is_here && f->code) tutti_agents_end(a, f->code, "%s", "");
    if (!h->in_epoch) return;
    if (f->code && h->nranks) tutti_agents_end(a, f->code, "%s", "");
    if (h->is_lost && !a->broken && (a->hosts[0].facts.bears || !h->nranks)) {
        h->in_epoch = false; /* rank 0 goes on without its workers, and all ranks go on without a host that has no
                              * rank */
        if (!tutti_agents_suffice(a)) tutti_agents_end_side(a);
    } else if (h->is_lost)
        break_epoch(a, h->base, true);
    else if (f->epoch == a->epoch && f->broken)
        break_epoch(a, f->lost, false);
}

static bool all_idle(const tutti_agents *a)
{
    for (int i = 0; i < a->nknown; i++) {
        const tutti_agent_host *h = &a->hosts[i];
        if (h->in_epoch && !h->is_lost && !h->facts.idle) return false;
    }
    return true;
}

/* True if this host was told to begin the newest epoch, and has not done so yet. */
static bool is_to_take(const tutti_agents *a, const tutti_agent_host *h)
{
    return a->formed && h->in_epoch && !h->is_lost && h->facts.epoch != a->epoch;
}

/* True if each host has begun the newest epoch and its ranks have left it. Without the first condition, a leader that
 * is cut off could use up one epoch number after another. */
static bool all_left(const tutti_agents *a)
{
    for (int i = 0; i < a->nknown; i++) {
        const tutti_agent_host *h = &a->hosts[i];
        if (h->in_epoch && !h->is_lost && (!h->facts.left || h->leaves || is_to_take(a, h))) return false;
    }
    return true;
}

/* Lets a host go that computes much longer than the others, if they can go on without it. */
static void let_go(tutti_agents *a)
{
    const tutti_launch_facts *f = &a->hosts[0].facts;
    const int rank = f->busy - 1;
    if (rank < 0 || f->epoch != a->epoch || a->broken || a->saving || a->judged == a->epoch) return;
    a->judged = a->epoch;
    for (int i = 0; i < a->nknown; i++) {
        tutti_agent_host *h = &a->hosts[i];
        if (!h->in_epoch || h->is_lost || rank < h->base || rank >= h->base + h->nranks) continue;
        h->leaves = a->lets_go = tutti_agents_can_spare(a, h);
        tutti_agents_say(a, "host %s computes much longer than the others: it %s",
                         h->is_here ? "of this agent" : h->address,
                         h->leaves ? "leaves the run" : "stays, because the run needs it");
    }
}

static void judge(tutti_agents *a)
{
    for (int i = 0; i < a->nknown && !a->finishing; i++) judge_host(a, &a->hosts[i]);
    tutti_agents_note_taken(a);
    a->finishing |= a->world && a->hosts[0].facts.epoch == a->epoch && a->hosts[0].facts.done;
    if (a->finishing && all_idle(a)) tutti_agents_end(a, TUTTI_OK, "%s", "");
    if (a->ending || a->finishing) return;
    let_go(a);
    if (!a->broken && !a->saving && a->epoch) {
        if (!a->lets_go) tutti_agents_grow(a);
        return;
    }
    if (all_left(a)) tutti_agents_form(a);
}

/* ---- orders ---- */

static tutti_launch_order order_for(const tutti_agents *a, const tutti_agent_host *h)
{
    tutti_launch_order o = {.kind = TUTTI_ORDER_WAIT,
                            .epoch = h->facts.epoch,
                            .bears = a->hosts[0].facts.bears,
                            .is_hard = a->hard,
                            .listener = -1,
                            .lost = a->lost,
                            .lost_ns = a->lost_ns,
                            .code = a->code};
    if (a->ending)
        o.kind = TUTTI_ORDER_END;
    else if (h->facts.code && !h->is_here) /* a host without ranks got a signal to end */
        o.kind = TUTTI_ORDER_END, o.code = h->facts.code;
    else if (h->leaves && !a->finishing)
        o.kind = TUTTI_ORDER_END, o.code = TUTTI_ERR_PEER, o.is_hard = true;
    else if (a->finishing)
        o.kind = TUTTI_ORDER_FINISH;
    else if (is_to_take(a, h))
        o.kind = TUTTI_ORDER_NEXT;
    else if (a->broken && h->in_epoch)
        o.kind = TUTTI_ORDER_BREAK;
    else if (a->saving && h->in_epoch)
        o.kind = TUTTI_ORDER_SAVE;
    if (o.kind != TUTTI_ORDER_NEXT) return o;
    o.epoch = a->epoch;
    o.base = h->base;
    o.nranks = h->nranks;
    o.world = a->world;
    o.port = a->rank_port;
    return o;
}

static void send_order(tutti_agents *a, tutti_agent_host *h)
{
    const double now = tutti_clock_s();
    tutti_agent_message m = {.kind = TUTTI_AGENT_ORDER,
                             .epoch = a->epoch,
                             .left = a->left,
                             .is_whole = a->is_whole,
                             .order = order_for(a, h)};
    if (h->is_here || h->is_lost) return;
    if (m.order.kind == h->sent_kind && m.order.epoch == h->sent_epoch && now - h->sent_at < ALIVE_S) return;
    m.since_s = a->lost_ns ? 1e-9 * (double)(tutti_clock_ns() - a->lost_ns) : -1;
    snprintf(m.words, sizeof m.words, "%s",
             h->leaves && !a->ending ? "this host computes much longer than the others: it leaves the run" : a->words);
    tutti_agent_send(a, &h->talk, &m);
    h->sent_kind = m.order.kind;
    h->sent_epoch = m.order.epoch;
    h->sent_at = now;
}

void tutti_agents_lead(tutti_agents *a, const tutti_launch_facts *facts, tutti_launch_order *order)
{
    tutti_agent_host *own = &a->hosts[0];
    own->facts = *facts;
    if (a->listener >= 0 && facts->epoch == a->epoch) { /* the launcher has copied the socket */
        close(a->listener);
        a->listener = -1;
    }
    accept_callers(a);
    hear_callers(a);
    for (int i = 0; i < a->nknown; i++) hear_host(a, &a->hosts[i]);
    forget(a);
    tutti_agents_try_lock(a);
    judge(a);
    for (int i = 0; i < a->nknown; i++) send_order(a, &a->hosts[i]);
    *order = order_for(a, &a->hosts[0]);
    order->address = "127.0.0.1";
    order->listener = a->listener;
}
