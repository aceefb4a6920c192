/* SPDX-License-Identifier: Apache-2.0 */
/* what_if.c: applies `--what-if` changes to the figures of a machine. */
#include "what_if.h"

#include <stdio.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/text/options.h"

/* The figures that --what-if can change, each with its own key and with the word for its group. */
static const struct {
    tutti_figure figure;
    const char *word;
} changeable[] = {
    {TUTTI_FIGURE_BANDWIDTH, "bandwidth"}, {TUTTI_FIGURE_NIC, "bandwidth"},  {TUTTI_FIGURE_BUS, "bandwidth"},
    {TUTTI_FIGURE_NVLINK, "bandwidth"},    {TUTTI_FIGURE_PCIE, "bandwidth"}, {TUTTI_FIGURE_QPI, "bandwidth"},
    {TUTTI_FIGURE_UP, "bandwidth"},        {TUTTI_FIGURE_COPY, "bandwidth"}, {TUTTI_FIGURE_REMOTE, "bandwidth"},
    {TUTTI_FIGURE_LATENCY, "latency"},     {TUTTI_FIGURE_NEAR, "latency"},   {TUTTI_FIGURE_HOP, "latency"},
    {TUTTI_FIGURE_SOFTWARE, "latency"},    {TUTTI_FIGURE_ADD, ""},           {TUTTI_FIGURE_SWITCH, ""},
};
enum { NCHANGEABLE = sizeof changeable / sizeof *changeable, NWORDS = NCHANGEABLE + 3 };

static tutti_status unknown(const char *where, const char *name, tutti_failure *err)
{
    const char *known[NWORDS] = {"compute", "bandwidth", "latency"};
    for (int i = 0; i < NCHANGEABLE; i++) known[i + 3] = tutti_figure_name(changeable[i].figure);
    const char *nearest = tutti_options_nearest(name, known, NWORDS);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' cannot be changed; %s%s%s", where, name,
                      nearest ? "did you mean '"
                              : "there are bandwidth, latency, compute, and rates and times by the "
                                "keys of the topology",
                      nearest ? nearest : "", nearest ? "'?" : "");
}

static tutti_status change(const char *where, const char *name, double factor, tutti_topology *t, double *speed,
                           tutti_failure *err)
{
    int known = !strcmp(name, "compute"), changed = known;
    if (!name[0]) return unknown(where, name, err);
    if (known) *speed *= factor;
    for (int i = 0; i < NCHANGEABLE; i++) {
        const tutti_figure f = changeable[i].figure;
        if (strcmp(name, changeable[i].word) && strcmp(name, tutti_figure_name(f))) continue;
        known = 1;
        if (!(t->figure[f] > 0)) continue;
        t->figure[f] *= factor;
        t->from[f] = TUTTI_FROM_GIVEN;
        changed = 1;
    }
    if (changed) return TUTTI_OK;
    if (!known) return unknown(where, name, err);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: this %s has no '%s' above 0 to change", where,
                      tutti_topology_kind_name(t->kind), name);
}

/* Reads "2x" or "2". */
static tutti_status read_factor(const char *where, char *text, double *factor, tutti_failure *err)
{
    const size_t n = strlen(text);
    tutti_arena arena = {0};
    const tutti_field field = {where, TUTTI_FIELD_REAL, 0, "1", NULL, 1e-6, 1e6, ""};
    const tutti_field_table table = {&field, 1};
    if (n && text[n - 1] == 'x') text[n - 1] = '\0';
    const tutti_status st =
        tutti_options_set(&(tutti_options_into){&table, &arena, factor}, "argument", where, text, err);
    tutti_arena_release(&arena);
    return st;
}

tutti_status tutti_what_if_apply(const char *where, const char *text, tutti_topology *t, double *speed,
                                 tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    while (text && !st) {
        char part[64];
        double factor = 1;
        const size_t length = strcspn(text, ",");
        snprintf(part, sizeof part, "%.*s", (int)(length < sizeof part ? length : sizeof part - 1), text);
        char *value = strchr(part, '=');
        if (!value || length >= sizeof part)
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' is not a change, such as bandwidth=2x", where, part);
        *value++ = '\0';
        st = read_factor(where, value, &factor, err);
        if (!st) st = change(where, part, factor, t, speed, err);
        text = text[length] ? text + length + 1 : NULL;
    }
    return st;
}
