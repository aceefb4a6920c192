/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c: lists the matrix of schedules to prove: every algorithm, collective, variant, rank count and lowering. */
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../compile/algorithms.h"
#include "tutti/lower.h"

enum { EVERY_VARIANT_UP_TO = 33, MOST_HOSTS = 4 };

static const int32_t standard[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11,  12,  13,   14,
                                   15, 16, 17, 18, 19, 20, 21, 22, 23,  24,  25,  26,  27,   28,
                                   29, 30, 31, 32, 33, 48, 64, 96, 127, 128, 255, 256, 1000, 1024};

typedef struct {
    tutti_verify_matrix *m;
    int row;
    const tutti_algorithm *a;
    int first_collective; /* the first collective that this row of the table serves */
} lister;

static bool is_there(const tutti_verify_matrix *m, const tutti_verify_case *c, const tutti_schedule_header *h)
{
    for (int64_t i = m->ncases - 1; i >= 0; i--) {
        const tutti_verify_case *o = &m->cases[i];
        if (o->row != c->row || o->request.nranks != c->request.nranks) return false;
        if (!strcmp(o->algorithm, h->algorithm) && o->request.collective == c->request.collective &&
            o->request.slots == c->request.slots && o->request.in_place == c->request.in_place &&
            o->request.topology == c->request.topology)
            return true;
    }
    return false;
}

static void add(tutti_verify_matrix *m, const tutti_verify_case *c)
{
    if (m->ncases == m->capacity) {
        m->capacity = m->capacity ? 2 * m->capacity : 1024;
        m->cases = tutti_realloc(m->cases, sizeof *m->cases * (size_t)m->capacity);
    }
    m->cases[m->ncases++] = *c;
}

/* Lists one request in all wire classes, if the row serves it and it is not listed yet. */
static bool list_request(const lister *l, const char *algorithm, const tutti_compile_request *q)
{
    tutti_schedule *s = NULL;
    if (tutti_schedule_compile(algorithm, q, &s, NULL) != TUTTI_OK) return false;
    const tutti_schedule_header *h = tutti_schedule_head(s);
    tutti_verify_case c = {.row = l->row, .request = *q, .nsteps = tutti_compile_steps(s)};
    c.request.slots = h->slots; /* slots of the canonical sum; 0 if nothing is summed */
    snprintf(c.algorithm, sizeof c.algorithm, "%s", h->algorithm);
    bool again = is_there(l->m, &c, h);
    bool heavy = c.nsteps > TUTTI_VERIFY_STEPS, left_out = heavy && q->nranks != TUTTI_VERIFY_MOST;
    bool unlowered = heavy && (int)q->collective != l->first_collective;
    if ((left_out || unlowered) && !again)
        tutti_strbuf_printf(&l->m->left_out, "  %s %s at %d ranks%s: about %.1f million steps\n", c.algorithm,
                            tutti_collective_name(q->collective), q->nranks, left_out ? "" : ", lowered",
                            1e-6 * (double)c.nsteps);
    for (int wire = 0; wire < TUTTI_NWIRE_CLASSES && !again && !left_out; wire++) {
        c.wire = (tutti_wire_class)wire;
        if (unlowered && wire != TUTTI_WIRE_TWO_SIDED) break;
        if (wire != TUTTI_WIRE_MIXED || q->nranks >= 3) add(l->m, &c);
    }
    tutti_schedule_destroy(s);
    return true;
}

/* Returns the slots of canonical sums: the next power of two. */
static int32_t slots_for(int32_t p)
{
    int32_t slots = 1;
    while (slots < p) slots *= 2;
    return slots;
}

/* Lists all requests with these parameters at p ranks; false = the row serves none of them. */
static bool list_forms(const lister *l, const char *algorithm, int32_t p, const tutti_topology *topology)
{
    bool served = false;
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
        for (int form = 0; form < (p <= EVERY_VARIANT_UP_TO ? 4 : 1); form++) {
            if (!(l->a->collectives & 1u << c)) continue;
            const tutti_compile_request q = {.collective = (tutti_collective)c,
                                             .nranks = p,
                                             .root = tutti_collective_has_root((tutti_collective)c) ? p / 2 : 0,
                                             .slots = form & 1 ? slots_for(p) : 0,
                                             .in_place = form & 2,
                                             .topology = topology};
            served = list_request(l, algorithm, &q) || served;
        }
    return served;
}

static bool list_variants(const lister *l, int32_t p, const tutti_topology *topology)
{
    bool served = list_forms(l, l->a->name, p, topology);
    for (int v = 0; p <= EVERY_VARIANT_UP_TO && l->a->variants[v]; v++) {
        char text[2 * TUTTI_ALGORITHM_TEXT];
        snprintf(text, sizeof text, "%s,%s", l->a->name, l->a->variants[v]);
        served = list_forms(l, text, p, topology) || served;
    }
    return served;
}

static void list_row(const lister *l, int32_t p, int ntopologies)
{
    bool served = list_variants(l, p, NULL);
    for (int t = 0; t < ntopologies && !served; t++)
        if (tutti_topology_nseats(&l->m->topologies[t], p) == p) list_variants(l, p, &l->m->topologies[t]);
}

void tutti_verify_create(const int32_t *ranks, int nranks, tutti_verify_matrix *out)
{
    int ntopologies = 0;
    *out = (tutti_verify_matrix){.topologies = tutti_verify_topologies(&ntopologies)};
    if (!ranks) ranks = standard, nranks = sizeof standard / sizeof standard[0];
    for (int i = 0; i < nranks; i++)
        for (int row = 0; row < tutti_algorithm_count(); row++) {
            lister l = {out, row, tutti_algorithm_at(row), 0};
            while (!(l.a->collectives >> l.first_collective & 1u)) l.first_collective++;
            list_row(&l, ranks[i], ntopologies);
        }
}

void tutti_verify_release(tutti_verify_matrix *m)
{
    free(m->cases);
    free(m->topologies);
    tutti_strbuf_release(&m->left_out);
    *m = (tutti_verify_matrix){0};
}

/* Lowers for MOST_HOSTS hosts with different numbers of ranks: rank r of p is on host floor(MOST_HOSTS * r^2 / p^2). */
static tutti_status lower_mixed(const tutti_schedule *s, int32_t p, tutti_schedule **out, tutti_failure *err)
{
    int32_t *host_of = tutti_alloc(sizeof *host_of * (size_t)p);
    for (int32_t r = 0; r < p; r++) host_of[r] = (int32_t)((int64_t)MOST_HOSTS * r * r / ((int64_t)p * p));
    tutti_status st = tutti_schedule_lower_hosts(s, host_of, out, err);
    free(host_of);
    return st;
}

tutti_status tutti_verify_prove(const tutti_verify_case *c, tutti_check_report *report, tutti_failure *err)
{
    tutti_schedule *s = NULL, *lowered = NULL;
    tutti_status st = tutti_schedule_compile(c->algorithm, &c->request, &s, err);
    if (st == TUTTI_OK && c->wire == TUTTI_WIRE_MIXED) st = lower_mixed(s, c->request.nranks, &lowered, err);
    if (st == TUTTI_OK && (c->wire == TUTTI_WIRE_MAPPED || c->wire == TUTTI_WIRE_ONE_SIDED))
        st = tutti_schedule_lower(s, c->wire, &lowered, err);
    if (st == TUTTI_OK) st = tutti_schedule_check(lowered ? lowered : s, report, err);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
    return st;
}

void tutti_verify_name(const tutti_verify_case *c, char out[200])
{
    int n = snprintf(out, 200, "%s %s of %d ranks, %s", c->algorithm, tutti_collective_name(c->request.collective),
                     c->request.nranks, tutti_wire_class_name(c->wire));
    if (c->request.in_place) n += snprintf(out + n, 200 - (size_t)n, ", in place");
    if (c->request.slots) n += snprintf(out + n, 200 - (size_t)n, ", %d slots", c->request.slots);
    if (c->request.topology)
        snprintf(out + n, 200 - (size_t)n, ", on %s", tutti_topology_kind_name(c->request.topology->kind));
}
