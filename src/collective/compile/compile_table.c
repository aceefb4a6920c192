/* SPDX-License-Identifier: Apache-2.0 */
/* compile_table.c: the table of algorithms, and tutti_schedule_compile, which compiles a schedule by a row. A new
 * algorithm needs its file and its name in ALGORITHMS.
 *
 * Requests are refused here, before anything is built, so that every compiled schedule has parts for all its ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/text/options.h"
#include "../schedule/schedule_impl.h"
#include "compile_impl.h"

enum { MAX_RANKS = 1 << 20, MAX_MATRIX_RANKS = 1 << 14, MAX_SLOTS = 1 << 20 };

#define ALGORITHMS(row)                                                                                                \
    row(direct) row(one_shot) row(two_shot) row(ring) row(halving_doubling) row(recursive_doubling) row(dissemination) \
        row(binomial) row(knomial) row(double_tree) row(binary_blocks) row(bruck) row(hierarchical) row(split_rail)    \
            row(torus) row(swing) row(trees) row(two_level) row(parameter_servers)

#define DECLARE(name) extern const tutti_algorithm tutti_algorithm_##name;
ALGORITHMS(DECLARE)

#define ROW(name) &tutti_algorithm_##name,
static const tutti_algorithm *const table[] = {ALGORITHMS(ROW)};
enum { NALGORITHMS = sizeof table / sizeof table[0] };

int tutti_algorithm_count(void)
{
    return NALGORITHMS;
}

const tutti_algorithm *tutti_algorithm_at(int i)
{
    return table[i];
}

const tutti_algorithm *tutti_algorithm_find(const char *text)
{
    size_t length = strcspn(text, ",");
    for (int i = 0; i < NALGORITHMS; i++)
        if (strlen(table[i]->name) == length && !strncmp(table[i]->name, text, length)) return table[i];
    return NULL;
}

static tutti_status unknown(const char *text, tutti_failure *err)
{
    char name[TUTTI_ALGORITHM_TEXT];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ","), text);
    const char *known[NALGORITHMS];
    for (int i = 0; i < NALGORITHMS; i++) known[i] = table[i]->name;
    const char *nearest = tutti_options_nearest(name, known, NALGORITHMS);
    if (nearest) return tutti_fail(err, TUTTI_ERR_USAGE, "unknown algorithm '%s'; did you mean '%s'?", name, nearest);
    return tutti_fail(err, TUTTI_ERR_USAGE, "unknown algorithm '%s'; 'tutti coll list' shows them", name);
}

static tutti_status refuse_collective(const tutti_algorithm *a, tutti_collective c, tutti_failure *err)
{
    char others[300] = "";
    for (int i = 0; i < NALGORITHMS; i++) {
        size_t n = strlen(others);
        if (table[i]->collectives & 1u << c)
            snprintf(others + n, sizeof others - n, "%s%s", n ? ", " : "", table[i]->name);
    }
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s does not serve %s; these do: %s", a->name, tutti_collective_name(c),
                      others);
}

static tutti_status refuse_partial_sums(const tutti_algorithm *a, tutti_collective c, tutti_failure *err)
{
    char others[300] = "";
    for (int i = 0; i < NALGORITHMS; i++) {
        size_t n = strlen(others);
        if ((table[i]->sums_once || table[i]->sums_groups) && table[i]->collectives & 1u << c)
            snprintf(others + n, sizeof others - n, "%s%s", n ? ", " : "", table[i]->name);
    }
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "%s passes partial sums on, which 16 bits would round again; for %s there are rows that sum all ranks' own, or "
        "groups' sums, in one step: %s",
        a->name, tutti_collective_name(c), others);
}

static tutti_status check_request(const tutti_compile_request *q, tutti_failure *err)
{
    if (q->nranks < 1 || q->nranks > MAX_RANKS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks: 1 to %d are possible", q->nranks, MAX_RANKS);
    if ((unsigned)q->collective >= TUTTI_NCOLLECTIVES)
        return tutti_fail(err, TUTTI_ERR_USAGE, "unknown collective %d", (int)q->collective);
    if (q->root < 0 || q->root >= q->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "root %d: ranks are 0 to %d", q->root, q->nranks - 1);
    if (q->slots < 0 || q->slots > MAX_SLOTS || (q->slots & (q->slots - 1)))
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d slots: canonical sums need a power of two, at most %d", q->slots,
                          MAX_SLOTS);
    if (q->slots && q->slots < q->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%d ranks share %d slots: every rank needs one; at most %d ranks, or more slots", q->nranks,
                          q->slots, q->slots);
    if (q->collective == TUTTI_ALL_TO_ALL && (q->in_place || q->nranks > MAX_MATRIX_RANKS))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "all-to-all needs outputs of its own (not in place) and serves at most %d ranks",
                          MAX_MATRIX_RANKS);
    return TUTTI_OK;
}

typedef struct {
    const tutti_algorithm *algorithm;
    tutti_compile_request request;
    void *prepared; /* data that all parts share (request.prepared is the same pointer) */
} compiled;

static void compiled_part(const tutti_schedule_header *head, const void *state, int32_t rank, tutti_part_builder *b)
{
    const compiled *c = state;
    if (head->nranks == 1)
        tutti_compile_alone(&c->request, b);
    else
        c->algorithm->part(&c->request, rank, b);
}

static void compiled_destroy(void *state)
{
    compiled *c = state;
    if (c->prepared && c->algorithm->release) c->algorithm->release(c->prepared);
    free(c);
}

/* Completes the request for the row: sets parameters, checks that the row accepts it, makes the shared data. */
static tutti_status complete(const tutti_algorithm *a, const char *name, compiled *c, tutti_failure *err)
{
    tutti_compile_request *q = &c->request;
    q->prepared = NULL;
    tutti_status st = tutti_algorithm_read(a, name, q->param, err);
    if (st == TUTTI_OK) st = check_request(q, err);
    if (st == TUTTI_OK && !(a->collectives & 1u << q->collective)) st = refuse_collective(a, q->collective, err);
    if (st == TUTTI_OK && q->sums_once && tutti_collective_reduces(q->collective) && !a->sums_once && !a->sums_groups)
        st = refuse_partial_sums(a, q->collective, err);
    if (st == TUTTI_OK && a->settle) a->settle(q);
    if (st == TUTTI_OK && a->accept) st = a->accept(q, err);
    if (st == TUTTI_OK && a->prepare) st = a->prepare(q, &c->prepared, err);
    q->prepared = c->prepared;
    return st;
}

tutti_status tutti_schedule_compile(const char *name, const tutti_compile_request *request, tutti_schedule **out,
                                    tutti_failure *err)
{
    static const tutti_schedule_ops ops = {compiled_part, compiled_destroy};
    const tutti_algorithm *a = tutti_algorithm_find(name);
    if (!a) return unknown(name, err);
    tutti_compile_request q = *request;
    bool reduces = tutti_collective_reduces(q.collective);
    if (!reduces) q.slots = 0; /* nothing is summed, so slots have no meaning */
    if (!tutti_collective_has_root(q.collective)) q.root = 0;
    if (q.collective == TUTTI_BARRIER) q.in_place = false; /* a barrier has no memory */
    compiled *state = tutti_alloc(sizeof *state);
    *state = (compiled){a, q, NULL};
    tutti_status st = complete(a, name, state, err);
    if (st != TUTTI_OK) {
        compiled_destroy(state);
        return st;
    }
    tutti_schedule_header head = {.collective = q.collective,
                                  .nranks = q.nranks,
                                  .root = q.root,
                                  .slots = q.slots,
                                  .in_place = q.in_place,
                                  .wire = TUTTI_WIRE_TWO_SIDED,
                                  .determinism = q.slots ? TUTTI_DETERMINISM_CANONICAL : a->determinism};
    tutti_algorithm_print(a, state->request.param, head.algorithm);
    if (!reduces) head.determinism = TUTTI_DETERMINISM_CANONICAL;
    *out = tutti_schedule_create(&head, &ops, state);
    return TUTTI_OK;
}
