/* SPDX-License-Identifier: Apache-2.0 */
/* costs.c: prints and parses costs of exchanges, through one table of fields. */
#include "costs.h"

#include <math.h>
#include <string.h>

#define COST(kind, key, field, hi, help)                                                                               \
    {                                                                                                                  \
        key, TUTTI_FIELD_##kind, offsetof(tutti_plan_costs, field), NULL, NULL, 0, hi, help                            \
    }

static const tutti_field fields[] = {
    COST(INT, "ranks", ranks, 1 << 20, "that shared the exchanges"),
    COST(INT, "threads", threads, 1 << 20, "of a rank"),
    COST(REAL, "overlap", overlap, 1, "share of an exchange that can run beside compute"),
    COST(REALS, "exchange.bytes", exchange_bytes, 1e15, "sizes of buckets"),
    COST(REALS, "exchange.seconds", exchange_s, 1e6, "time of all exchanges of such a bucket"),
    COST(REALS, "backward.params_s", params_s, 1e6, "a layer: time of the gradients of its parameters"),
    COST(REALS, "backward.data_s", data_s, 1e6, "a layer: time of the gradient of its input"),
    COST(REALS, "backward.sum_s", sum_s, 1e6, "a layer: time of summing what several readers of its output leave"),
};
static const tutti_field_table table = {fields, sizeof fields / sizeof fields[0]};

char *tutti_plan_costs_print(const tutti_plan_costs *c)
{
    tutti_strbuf out = {0};
    tutti_options_print(&table, c, &out);
    return tutti_strbuf_detach(&out);
}

static tutti_status check(const char *name, const tutti_plan_costs *c, tutti_failure *err)
{
    const tutti_reals *bytes = &c->exchange_bytes;
    if (bytes->n < 1 || bytes->n > TUTTI_MAX_COST_POINTS || c->exchange_s.n != bytes->n || !(bytes->values[0] >= 1))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: exchange: 1 to %d sizes above 0 are needed, and a time for each",
                          name, TUTTI_MAX_COST_POINTS);
    for (int i = 1; i < bytes->n; i++)
        if (!(bytes->values[i] >= bytes->values[i - 1] + 1))
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: exchange.bytes: %g comes after %g", name, bytes->values[i],
                              bytes->values[i - 1]);
    if (c->params_s.n != c->data_s.n || c->params_s.n != c->sum_s.n)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: backward: %d, %d and %d layers", name, c->params_s.n, c->data_s.n,
                          c->sum_s.n);
    return TUTTI_OK;
}

tutti_status tutti_plan_costs_parse(const char *name, const char *text, tutti_plan_costs *out, tutti_failure *err)
{
    tutti_yaml *yaml = NULL;
    tutti_plan_costs c = {0};
    tutti_status st = tutti_yaml_parse(name, text, strlen(text), &yaml, err);
    if (!st)
        st = tutti_options_read(&(tutti_options_into){&table, &c.arena, &c}, name, tutti_yaml_root(yaml), NULL, 0, err);
    if (!st) st = check(name, &c, err);
    tutti_yaml_destroy(yaml);
    if (st) {
        tutti_plan_costs_release(&c);
        if (err) err->status = TUTTI_ERR_DATA; /* a program wrote the text, not the user */
        return TUTTI_ERR_DATA;
    }
    *out = c;
    return TUTTI_OK;
}

void tutti_plan_costs_release(tutti_plan_costs *c)
{
    tutti_arena_release(&c->arena);
    *c = (tutti_plan_costs){0};
}

tutti_exchange_cost tutti_plan_costs_exchange(const tutti_plan_costs *c)
{
    tutti_exchange_cost out = {.npoints = c->exchange_bytes.n, .overlap = c->overlap};
    for (int i = 0; i < out.npoints; i++) {
        out.bytes[i] = llround(c->exchange_bytes.values[i]);
        out.ns[i] = llround(c->exchange_s.values[i] * 1e9);
        if (i && out.ns[i] < out.ns[i - 1]) out.ns[i] = out.ns[i - 1]; /* corrects noise of the measurement */
    }
    return out;
}
