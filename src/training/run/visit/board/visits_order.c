/* SPDX-License-Identifier: Apache-2.0 */
/* visits_order.c: writes and reads the order of an asynchronous run, so that it can be played again. The file of an
 * order: {"ranks": 2, "plan": "<hash>", "first_share": 0, "shares": [0, 1, ..], "visits": [..], "stops": [..]}; "lost":
 * 1 where a rank died. */
#include "visits_order.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../base/arena.h"
#include "../../../../base/file.h"
#include "../../../../base/hash.h"
#include "../../../../base/text/json.h"
#include "../../../../base/text/strbuf.h"

static const size_t MOST_BYTES = (size_t)1 << 30;
static const double MOST_NUMBER = 9e15;

/* ---- writing ---- */

static void add_ranks(tutti_strbuf *sb, const char *key, const int32_t *ranks, int64_t n)
{
    tutti_strbuf_printf(sb, ",\n \"%s\": [", key);
    for (int64_t i = 0; i < n; i++) tutti_strbuf_printf(sb, "%s%d", i ? "," : "", (int)ranks[i]);
    tutti_strbuf_puts(sb, "]");
}

tutti_status tutti_visits_order_write(const char *path, const tutti_visits_order *o, tutti_failure *err)
{
    char hash[17];
    tutti_strbuf sb = {0};
    tutti_hash_text(o->plan_hash, hash);
    tutti_strbuf_printf(&sb, "{\"ranks\": %d, \"plan\": \"%s\", \"first_share\": %lld", o->nranks, hash,
                        (long long)o->first_share);
    add_ranks(&sb, "shares", o->shares, o->nshares);
    add_ranks(&sb, "visits", o->visits, o->nvisits);
    tutti_strbuf_puts(&sb, ",\n \"stops\": [");
    for (int64_t i = 0; i < o->nstops; i++) tutti_strbuf_printf(&sb, "%s%lld", i ? "," : "", (long long)o->stops[i]);
    tutti_strbuf_puts(&sb, "]");
    if (o->lost >= 0) tutti_strbuf_printf(&sb, ",\n \"lost\": %lld", (long long)o->lost);
    tutti_strbuf_puts(&sb, "}\n");
    const tutti_status st = tutti_file_write_atomic(path, sb.text, sb.length, err);
    tutti_strbuf_release(&sb);
    return st;
}

/* ---- reading ---- */

static bool take_number(const cJSON *item, double most, int64_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= most)) return false;
    *out = (int64_t)item->valuedouble;
    return (double)*out == item->valuedouble;
}

static bool take_ranks(const cJSON *root, const char *key, int nranks, int32_t **out, int64_t *n)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key), *item;
    int64_t rank;
    *n = 0;
    if (!cJSON_IsArray(list)) return false;
    *out = tutti_alloc(sizeof **out * ((size_t)cJSON_GetArraySize(list) + 1));
    cJSON_ArrayForEach(item, list)
    {
        if (!take_number(item, nranks - 1, &rank)) return false;
        (*out)[(*n)++] = (int32_t)rank;
    }
    return true;
}

static bool take_stops(const cJSON *root, tutti_visits_order *o)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "stops"), *item;
    if (!cJSON_IsArray(list)) return false;
    o->stops = tutti_alloc(sizeof *o->stops * ((size_t)cJSON_GetArraySize(list) + 1));
    cJSON_ArrayForEach(item, list)
    {
        if (!take_number(item, MOST_NUMBER, &o->stops[o->nstops])) return false;
        if (o->nstops && o->stops[o->nstops] <= o->stops[o->nstops - 1]) return false;
        o->nstops++;
    }
    return true;
}

static bool take_lost(const cJSON *root, tutti_visits_order *o)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "lost");
    o->lost = -1;
    return !item || take_number(item, o->nranks - 1, &o->lost);
}

/* Reads all members of the JSON object. Returns NULL, or the name of a member that is missing or invalid. */
static const char *take_all(const cJSON *root, tutti_visits_order *o)
{
    int64_t nranks;
    char *end = NULL;
    const cJSON *plan = cJSON_GetObjectItemCaseSensitive(root, "plan");
    if (!take_number(cJSON_GetObjectItemCaseSensitive(root, "ranks"), INT32_MAX, &nranks) || nranks < 1) return "ranks";
    o->nranks = (int)nranks;
    if (!cJSON_IsString(plan) || strlen(plan->valuestring) != 16) return "plan";
    o->plan_hash = strtoull(plan->valuestring, &end, 16);
    if (*end) return "plan";
    if (!take_number(cJSON_GetObjectItemCaseSensitive(root, "first_share"), MOST_NUMBER, &o->first_share))
        return "first_share";
    if (!take_ranks(root, "shares", o->nranks, &o->shares, &o->nshares)) return "shares";
    if (!take_ranks(root, "visits", o->nranks, &o->visits, &o->nvisits)) return "visits";
    if (!take_stops(root, o)) return "stops";
    return take_lost(root, o) ? NULL : "lost";
}

tutti_status tutti_visits_order_parse(const char *name, const char *text, size_t nbytes, tutti_visits_order *out,
                                      tutti_failure *err)
{
    *out = (tutti_visits_order){0};
    cJSON *root = tutti_json_parse(text, nbytes);
    const char *wrong = root ? take_all(root, out) : "JSON";
    cJSON_Delete(root);
    if (!wrong) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: is not a record of visits: its %s is missing or means nothing", name,
                      wrong);
}

tutti_status tutti_visits_order_read(const char *path, tutti_visits_order *out, tutti_failure *err)
{
    char *text;
    size_t nbytes;
    *out = (tutti_visits_order){0};
    tutti_status st = tutti_file_read(path, MOST_BYTES, TUTTI_ERR_DATA, &text, &nbytes, err);
    if (st) return st;
    st = tutti_visits_order_parse(path, text, nbytes, out, err);
    free(text);
    return st;
}

/* ---- checking that a run can have had the order ---- */

/* Counts a rank's visits in a local step that ends no period, and in one that does; false: the rank also visits outside
 * of its steps. */
static bool count_visits(const tutti_plan *plan, int rank, int nvisits[2])
{
    tutti_arena arena = {0};
    tutti_loop loops[TUTTI_NDRIVERS], of_zero[TUTTI_NDRIVERS];
    bool known = true;
    int each = 1;
    const bool is_far = tutti_plan_is_far(plan, rank);
    nvisits[0] = nvisits[1] = 0;
    tutti_plan_list_loops(plan, rank, &arena, loops);
    if (is_far) {
        tutti_plan_list_loops(plan, 0, &arena, of_zero);
        const tutti_loop part = tutti_loop_part(&of_zero[TUTTI_EACH_ARRIVAL], rank);
        each = 0;
        for (int i = 0; i < part.nactions; i++) each += tutti_action_enters(&part.actions[i]);
    }
    for (int d = 0; d < TUTTI_NDRIVERS; d++)
        for (int i = 0; i < loops[d].nactions && d != TUTTI_EACH_ARRIVAL; i++) {
            const tutti_action *a = &loops[d].actions[i];
            const bool visits = is_far ? tutti_action_starts(a) && a->exchange == tutti_plan_push_of(plan, rank)
                                       : tutti_action_enters(a);
            known = known && (!visits || d == TUTTI_EACH_STEP);
            for (int last = 0; last < 2 && visits; last++) nvisits[last] += tutti_action_is_due(a, last) ? each : 0;
        }
    tutti_arena_release(&arena);
    return known;
}

typedef struct {
    const char *name;
    const tutti_visits_order *o;
    const tutti_plan *plan;
    tutti_failure *err;
    int (*each)[2];           /* per rank: visits in a step that ends no period, and in one that does */
    int64_t *shares, *visits; /* for each rank: shares and visits so far */
    int64_t nshares, nvisits; /* shares and visits so far, over all ranks */
} walk;

static tutti_status contradict(const walk *w, const char *words)
{
    return tutti_fail(w->err, TUTTI_ERR_DATA, "%s: is not a record that a run can have made: %s", w->name, words);
}

/* Counts each rank's shares before share `end`. Fails if the plan deals shares in rank order and the record does
 * not. */
static tutti_status walk_shares(walk *w, int64_t end)
{
    char words[120];
    for (; w->nshares < end; w->nshares++) {
        const int rank = w->o->shares[w->nshares];
        if (tutti_plan_deals_in_order(w->plan) && rank != w->nshares % w->o->nranks) {
            snprintf(words, sizeof words, "share %lld is of rank %d, and is dealt in rank order",
                     (long long)(w->o->first_share + w->nshares), rank);
            return contradict(w, words);
        }
        w->shares[rank]++;
    }
    return TUTTI_OK;
}

static int64_t visits_of(const walk *w, int rank)
{
    const int64_t n = w->shares[rank], ends = n / w->plan->config.period;
    return ends * w->each[rank][1] + (n - ends) * w->each[rank][0];
}

/* If the record lets this rank visit at a time when the visit would have to wait for a slower rank, returns that rank;
 * -1 = none. A rank that has no more visits before the stop is not waited for. */
static int slowest(const walk *w, int rank)
{
    if (!w->plan->is_paced || w->plan->config.period != 1 || w->each[rank][1] != 1) return -1;
    for (int r = 0; r < w->o->nranks; r++)
        if (w->visits[r] < w->visits[rank] - w->plan->config.staleness && w->visits[r] < visits_of(w, r)) return r;
    return -1;
}

/* Checks the visits of the shares before a stop. */
static tutti_status walk_visits(walk *w, int64_t stop)
{
    char words[160];
    int64_t n = 0;
    for (int r = 0; r < w->o->nranks; r++) n += visits_of(w, r);
    for (; w->nvisits < n && w->nvisits < w->o->nvisits; w->nvisits++) {
        const int rank = w->o->visits[w->nvisits], late = slowest(w, rank);
        if (late >= 0) {
            snprintf(words, sizeof words, "visit %lld is of rank %d, more than %lld steps ahead of rank %d",
                     (long long)w->nvisits, rank, (long long)w->plan->config.staleness, late);
            return contradict(w, words);
        }
        w->visits[rank]++;
    }
    for (int r = 0; r < w->o->nranks; r++)
        if (w->visits[r] != visits_of(w, r)) {
            snprintf(words, sizeof words, "rank %d visits %lld times before step %lld, and its shares make %lld", r,
                     (long long)w->visits[r], (long long)stop, (long long)visits_of(w, r));
            return contradict(w, words);
        }
    return TUTTI_OK;
}

static tutti_status walk_all(walk *w)
{
    const tutti_visits_order *o = w->o;
    char words[120];
    for (int64_t i = 0; i < o->nstops; i++) {
        const bool is_last = o->stops[i] >= (o->first_share + o->nshares) / o->nranks;
        tutti_status st = walk_shares(w, is_last ? o->nshares : o->stops[i] * o->nranks - o->first_share);
        if (!st) st = walk_visits(w, o->stops[i]);
        if (st) return st;
    }
    if (w->nshares < o->nshares) {
        snprintf(words, sizeof words, "its stops end before share %lld of %lld",
                 (long long)(o->first_share + w->nshares), (long long)(o->first_share + o->nshares));
        return contradict(w, words);
    }
    if (w->nvisits == o->nvisits) return TUTTI_OK;
    snprintf(words, sizeof words, "it has %lld visits, and its shares make %lld", (long long)o->nvisits,
             (long long)w->nvisits);
    return contradict(w, words);
}

tutti_status tutti_visits_order_check(const char *name, const tutti_visits_order *o, const tutti_plan *plan,
                                      tutti_failure *err)
{
    const size_t n = (size_t)o->nranks;
    walk w = {.name = name, .o = o, .plan = plan, .err = err};
    /* false: the record may begin in the middle of a period, so visits cannot be counted and are not checked */
    bool known = o->first_share == 0 || plan->config.period == 1;
    w.each = tutti_alloc(sizeof *w.each * n);
    w.shares = tutti_alloc(sizeof *w.shares * n), w.visits = tutti_alloc(sizeof *w.visits * n);
    for (int r = 0; r < o->nranks; r++) known = count_visits(plan, r, w.each[r]) && known;
    const tutti_status st = known ? walk_all(&w) : TUTTI_OK;
    free(w.each), free(w.shares), free(w.visits);
    return st;
}

void tutti_visits_order_release(tutti_visits_order *o)
{
    free(o->shares), free(o->visits), free(o->stops);
    *o = (tutti_visits_order){0};
}
