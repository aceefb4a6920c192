/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c: the life of an agent, and what it does while it follows a leader: it reports facts and keeps the newest
 * order. */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/host/unique.h"
#include "../launch/reach.h"
#include "agents_impl.h"

/* Seconds. ALIVE_S: between two signs of life of an agent. ATTEMPT_S: the most for one attempt to connect. PAUSE_S:
 * between two attempts. */
static const double ALIVE_S = 0.3, ATTEMPT_S = 0.5, PAUSE_S = 0.1;

void tutti_agents_say(const tutti_agents *a, const char *format, ...)
{
    char words[300];
    va_list values;
    if (!a->options.tell) return;
    va_start(values, format);
    vsnprintf(words, sizeof words, format, values);
    va_end(values);
    a->options.tell(a->options.arg, words);
}

/* ---- the text by which others join ---- */

void tutti_agents_join_text(const tutti_agents *a, char out[TUTTI_AGENTS_TEXT])
{
    char own[TUTTI_REACH_TEXT];
    const char *address = a->options.address;
    for (int i = 0; i < a->newest.n; i++) /* the address at which other hosts reach this one, if the table has it */
        if (a->newest.entry[i].id == a->id && !a->options.leads) address = a->newest.entry[i].address;
    if (!*address) {
        tutti_reach_own(own);
        own[strcspn(own, ",")] = '\0';
        address = own;
    }
    const bool is_six = strchr(address, ':') && *address != '[';
    snprintf(out, TUTTI_AGENTS_TEXT, "%s%.255s%s:%d/%" PRIx64, is_six ? "[" : "", address, is_six ? "]" : "", a->port,
             a->options.cookie);
}

tutti_status tutti_agents_read_text(const char *text, char address[TUTTI_AGENTS_TEXT], int *port, uint64_t *cookie,
                                    tutti_failure *err)
{
    tutti_address a;
    char *end = NULL;
    const char *slash = strrchr(text, '/');
    snprintf(address, TUTTI_AGENTS_TEXT, "%.*s", slash ? (int)(slash - text) : 0, text);
    if (slash) *cookie = strtoull(slash + 1, &end, 16);
    if (!slash || !slash[1] || *end || tutti_address_read(address, &a, NULL) || !a.port)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "'%.80s' is not the text by which an agent joins; the leading agent prints it: ADDRESS:PORT/RUN", text);
    snprintf(address, TUTTI_AGENTS_TEXT, "%s", a.host);
    *port = a.port;
    return TUTTI_OK;
}

/* ---- opening ---- */

void tutti_agents_greet(tutti_agents *a, tutti_agent_talk *t)
{
    tutti_agent_message hello = {.kind = TUTTI_AGENT_HELLO,
                                 .job = a->options.job,
                                 .id = a->id,
                                 .port = a->port,
                                 .nlocal = a->options.nlocal,
                                 .epoch = a->epoch,
                                 .left = a->left};
    tutti_agent_send(a, t, &hello);
    a->sent_at = 0;
    a->heard_at = tutti_clock_s();
}

/* Connects to the first leader, which may begin to listen later than this agent. */
static tutti_status reach_leader(tutti_agents *a, tutti_failure *err)
{
    const double until = tutti_clock_s() + a->options.deadline_s;
    bool refused;
    while (!tutti_agent_connect(a->options.address, a->options.port, ATTEMPT_S, &a->leader, &refused)) {
        if (tutti_clock_s() > until)
            return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                              "agents: the first agent of the run is not reached at %s port %d within %g s: start it, "
                              "or give its address",
                              a->options.address, a->options.port, a->options.deadline_s);
        tutti_clock_sleep_s(PAUSE_S);
    }
    snprintf(a->leader_address, sizeof a->leader_address, "%s", a->options.address);
    tutti_agents_greet(a, &a->leader);
    return TUTTI_OK;
}

/* A handler that does nothing: SIG_IGN would drop SIGIO, for which the launcher waits. */
static void ignore(int signal_number)
{
    (void)signal_number;
}

tutti_status tutti_agents_open(const tutti_agents_options *options, tutti_agents **out, tutti_failure *err)
{
    tutti_agents *a = tutti_alloc(sizeof *a);
    *a = (tutti_agents){.options = *options,
                        .id = (int64_t)tutti_unique_number(),
                        .left = options->max_restarts,
                        .leader = {.fd = -1},
                        .last = {.kind = TUTTI_ORDER_WAIT, .listener = -1, .lost = -1},
                        .lock = -1,
                        .lost = -1,
                        .listener = -1};
    *out = a;
    /* Without a handler, SIGIO would end this process until the launcher blocks the signal. Calls that it interrupts
     * are restarted: glibc's signal() asks for that, ThreadSanitizer's does not. */
    (void)sigaction(SIGIO, &(struct sigaction){.sa_handler = ignore, .sa_flags = SA_RESTART}, NULL);
    tutti_status st = tutti_agent_listen(a, err);
    if (!st && options->leads) {
        tutti_agents_begin_to_lead(a, false);
        st = tutti_agents_check_lock(a, err);
    }
    if (!st && !options->leads) st = reach_leader(a, err);
    if (!st) return TUTTI_OK;
    tutti_agents_close(a);
    *out = NULL;
    return st;
}

void tutti_agents_close(tutti_agents *a)
{
    if (!a) return;
    tutti_agent_hang_up(&a->leader);
    for (int h = 0; h < a->nknown; h++) tutti_agent_hang_up(&a->hosts[h].talk);
    for (int c = 0; c < a->ncallers; c++) tutti_agent_hang_up(&a->callers[c].talk);
    for (int i = 0; i < a->nlisteners; i++) close(a->listeners[i]);
    tutti_agents_unlock(a);
    if (a->listener >= 0) close(a->listener);
    free(a->hosts), free(a->callers), free(a->newest.entry), free(a->before.entry);
    free(a);
}

/* ---- following ---- */

static bool same_facts(const tutti_launch_facts *a, const tutti_launch_facts *b)
{
    return a->epoch == b->epoch && a->plays == b->plays && a->broken == b->broken && a->left == b->left &&
           a->done == b->done && a->idle == b->idle && a->bears == b->bears && a->lost == b->lost && a->code == b->code;
}

static void report(tutti_agents *a, const tutti_launch_facts *facts)
{
    const double now = tutti_clock_s();
    if (same_facts(facts, &a->sent) && now - a->sent_at < ALIVE_S) return;
    tutti_agent_message m = {.kind = TUTTI_AGENT_REPORT, .epoch = facts->epoch, .facts = *facts};
    tutti_agent_send(a, &a->leader, &m);
    a->sent = *facts;
    a->sent_at = now;
}

/* Stores one host of a table. All messages of a table arrive in a row, before the order that begins the table's
 * epoch. */
static void take_host(tutti_agents *a, const tutti_agent_message *m)
{
    if (m->nhosts < 1 || m->nhosts > TUTTI_AGENTS_MOST || m->index < 0 || m->index >= m->nhosts) return;
    if (m->index == 0 && m->is_before) tutti_agents_resize(&a->before, m->nhosts);
    if (m->index == 0 && !m->is_before) {
        tutti_agents_resize(&a->newest, m->nhosts);
        a->is_whole = false;
        a->epoch = m->epoch;
        a->candidate = 0;
    }
    tutti_agent_table *table = m->is_before ? &a->before : &a->newest;
    if (m->index >= table->n) return;
    tutti_agent_entry *e = &table->entry[m->index];
    *e = (tutti_agent_entry){.id = m->id, .port = m->port};
    /* entry 0 is the leader, which does not know the address at which others reach it */
    snprintf(e->address, sizeof e->address, "%.63s", m->index ? m->address : a->leader_address);
}

static void take_order(tutti_agents *a, const tutti_agent_message *m)
{
    const bool is_new = m->order.kind != a->last.kind || m->order.epoch != a->last.epoch;
    a->last = m->order;
    a->last.address = a->leader_address;
    a->last.listener = -1;
    a->left = m->left;
    a->is_whole |= m->is_whole && m->epoch == a->epoch;
    if (m->order.kind == TUTTI_ORDER_NEXT) a->world = m->order.world;
    if (is_new) a->last_lost_ns = m->since_s < 0 ? 0 : tutti_clock_ns() - (int64_t)(m->since_s * 1e9);
    a->last.lost_ns = a->last_lost_ns;
    if (is_new && m->order.kind == TUTTI_ORDER_END && m->words[0]) tutti_agents_say(a, "%s", m->words);
}

static void hear(tutti_agents *a)
{
    while (tutti_agent_receive(a, &a->leader) > 0) {
        const tutti_agent_message *m = &a->leader.in.message;
        a->heard_at = tutti_clock_s();
        if (m->kind == TUTTI_AGENT_HOST) take_host(a, m);
        if (m->kind == TUTTI_AGENT_ORDER) take_order(a, m);
    }
}

static void follow(tutti_agents *a, const tutti_launch_facts *facts, tutti_launch_order *order)
{
    hear(a);
    report(a, facts);
    *order = a->last;
    if (a->last.kind == TUTTI_ORDER_END) return;
    const bool is_silent = tutti_clock_s() - a->heard_at > a->options.deadline_s;
    if (a->leader.fd >= 0 && !is_silent) return;
    tutti_agent_hang_up(&a->leader);
    tutti_agents_say(a, "the leading agent (host %s) %s", a->leader_address, is_silent ? "is silent" : "was lost");
    if (a->last.kind == TUTTI_ORDER_FINISH) { /* rank 0 has finished the run: no leader is needed any more */
        a->last = (tutti_launch_order){.kind = TUTTI_ORDER_END, .listener = -1};
        *order = a->last;
        return;
    }
    a->role = TUTTI_AGENT_SEEKS;
    a->sought_at = 0;
}

void tutti_agents_decide(void *agents, const tutti_launch_facts *facts, tutti_launch_order *order)
{
    tutti_agents *a = agents;
    if (a->role == TUTTI_AGENT_FOLLOWS) follow(a, facts, order);
    if (a->role == TUTTI_AGENT_SEEKS) tutti_agents_seek(a, facts, order);
    if (a->role == TUTTI_AGENT_LEADS) tutti_agents_lead(a, facts, order);
}
