/* SPDX-License-Identifier: Apache-2.0 */
/* visits_order.c: the file of an order: {"ranks": 2, "plan": "<hash>", "first_share": 0, "shares": [0, 1, ..], "visits": [..], "stops": [..]}; "lost": 1
 * where a rank died. */
#include "visits_order.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../base/strbuf.h"

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

/* NULL, or what is missing or means nothing. */
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
    cJSON *root = cJSON_ParseWithLength(text, nbytes);
    const char *wrong = root ? take_all(root, out) : "JSON";
    cJSON_Delete(root);
    if (!wrong) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: is no record of visits: its %s is missing or means nothing", name,
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

void tutti_visits_order_release(tutti_visits_order *o)
{
    free(o->shares), free(o->visits), free(o->stops);
    *o = (tutti_visits_order){0};
}
