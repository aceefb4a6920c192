/* SPDX-License-Identifier: Apache-2.0 */
/* topology_text.c: the one-line text form of a topology, figures with units, and the description for people.
 *
 * A figure is a positive number with a unit of its dimension. What has no unit, the wrong one, or is not of this kind of
 * topology is refused: a parameter that would have no effect must not look as if it had one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/strbuf.h"
#include "topology_impl.h"

typedef enum { RATE, TIME, COUNT, SIZE } dimension;

static const struct {
    const char *name;
    dimension dim;
    const char *meaning;
} figures[TUTTI_NFIGURES] = {
    [TUTTI_FIGURE_BANDWIDTH] = {"bw", RATE, "of a link each way; of the memory for all cores of a host"},
    [TUTTI_FIGURE_LATENCY] = {"lat", TIME, "alpha: from a signal or send to the waiter's next step"},
    [TUTTI_FIGURE_SOFTWARE] = {"soft", TIME, "work of a host for each message that it sends or receives"},
    [TUTTI_FIGURE_COPY] = {"copy", RATE, "1/beta: bytes read and written by one core that copies"},
    [TUTTI_FIGURE_ADD] = {"add", RATE, "1/gamma: bytes that one core reads and writes (host) or adds (star) in a sum"},
    [TUTTI_FIGURE_REMOTE] = {"remote", RATE, "bytes read in another rank's memory, with the calling back of lines"},
    [TUTTI_FIGURE_SWITCH] = {"switch", TIME, "a core goes from one rank to another"},
    [TUTTI_FIGURE_CORES] = {"cores", COUNT, "usable by all ranks together"},
    [TUTTI_FIGURE_CACHE] = {"cache", SIZE, "stays in the caches; more goes through the memory"},
};

/* Largest unit first within a dimension: printing takes the first that leaves a number of at least 1. */
static const struct {
    dimension dim;
    const char *name;
    double factor;
} units[] = {
    {RATE, "TB", 1e12},     {RATE, "GB", 1e9},      {RATE, "MB", 1e6},      {RATE, "kB", 1e3},  {RATE, "B", 1},
    {RATE, "Tb", 125e9},    {RATE, "Gb", 125e6},    {RATE, "Mb", 125e3},    {RATE, "kb", 125},  {RATE, "b", 0.125},
    {TIME, "s", 1},         {TIME, "ms", 1e-3},     {TIME, "us", 1e-6},     {TIME, "ns", 1e-9}, {COUNT, "", 1},
    {SIZE, "GiB", 1 << 30}, {SIZE, "MiB", 1 << 20}, {SIZE, "KiB", 1 << 10}, {SIZE, "B", 1},
};
enum { NUNITS = sizeof units / sizeof units[0] };

const char *tutti_figure_name(tutti_figure f)
{
    return figures[f].name;
}

bool tutti_figure_parse(tutti_figure f, const char *text, size_t nbytes, double *out)
{
    char copy[48], *end;
    if (nbytes == 0 || nbytes >= sizeof copy) return false;
    memcpy(copy, text, nbytes);
    copy[nbytes] = '\0';
    double number = strtod(copy, &end);
    if (end == copy || !isfinite(number) || number < 0) return false;
    for (int u = 0; u < NUNITS; u++) {
        if (units[u].dim != figures[f].dim || strcmp(units[u].name, end)) continue;
        *out = number * units[u].factor;
        if (figures[f].dim == COUNT) return *out >= 1 && *out <= 65536 && *out == floor(*out);
        return *out > 0 || figures[f].dim == TIME;
    }
    return false;
}

void tutti_figure_print(tutti_figure f, double value, char out[32])
{
    int last = -1;
    for (int u = 0; u < NUNITS; u++) {
        if (units[u].dim != figures[f].dim) continue;
        if (figures[f].dim == RATE && strlen(units[u].name) == 2 && units[u].name[1] == 'b') break;
        last = u;
        if (value >= units[u].factor) break;
    }
    snprintf(out, 32, "%.12g%s", value / units[last].factor, units[last].name);
}

static tutti_figure figure_find(const char *name, size_t nbytes)
{
    for (int f = 0; f < TUTTI_NFIGURES; f++)
        if (strlen(figures[f].name) == nbytes && !memcmp(figures[f].name, name, nbytes)) return (tutti_figure)f;
    return TUTTI_NFIGURES;
}

static const char *const examples[] = {[RATE] = "10Gb or 1.25GB", [TIME] = "5us", [COUNT] = "8", [SIZE] = "32MiB"};

/* One "key=value" of n bytes. */
static tutti_status item_parse(tutti_topology *t, const char *item, size_t n, tutti_failure *err)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    const char *equals = memchr(item, '=', n);
    size_t key = equals ? (size_t)(equals - item) : n;
    tutti_figure f = figure_find(item, key);
    if (f == TUTTI_NFIGURES || !(row->figures & 1u << f)) {
        tutti_strbuf known = {0};
        for (int i = 0; i < TUTTI_NFIGURES; i++)
            if (row->figures & 1u << i) tutti_strbuf_printf(&known, " %s", figures[i].name);
        tutti_fail(err, TUTTI_ERR_USAGE, "topology: %s has no figure '%.*s'; it has%s", row->name, (int)key, item,
                   known.text);
        tutti_strbuf_release(&known);
        return TUTTI_ERR_USAGE;
    }
    if (!equals || !tutti_figure_parse(f, equals + 1, n - key - 1, &t->figure[f]))
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: '%.*s': wanted a figure such as %s=%s", (int)n, item,
                          figures[f].name, examples[figures[f].dim]);
    if (t->from[f] == TUTTI_FROM_GIVEN)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: %s is given twice", figures[f].name);
    t->from[f] = TUTTI_FROM_GIVEN;
    return TUTTI_OK;
}

tutti_status tutti_topology_parse(const char *text, tutti_topology *out, tutti_failure *err)
{
    size_t n = strcspn(text, ",");
    tutti_topology t = {.kind = TUTTI_NTOPOLOGY_KINDS};
    for (int k = 0; k < TUTTI_NTOPOLOGY_KINDS; k++) {
        const char *name = tutti_topology_row_at(k)->name;
        if (strlen(name) == n && !memcmp(name, text, n)) t.kind = (tutti_topology_kind)k;
    }
    if (t.kind == TUTTI_NTOPOLOGY_KINDS)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "topology: no kind '%.*s'; there are host and star, for example "
                          "star,bw=10Gb,lat=5us",
                          (int)(n < 40 ? n : 40), text);
    const tutti_topology_row *row = tutti_topology_row_at((int)t.kind);
    memcpy(t.figure, row->assumed, sizeof t.figure);
    if (row->detect) row->detect(&t);
    while (text[n] == ',') {
        text += n + 1;
        n = strcspn(text, ",");
        tutti_status status = item_parse(&t, text, n, err);
        if (status) return status;
    }
    *out = t;
    return TUTTI_OK;
}

void tutti_topology_print(const tutti_topology *t, char out[256])
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    int used = snprintf(out, 256, "%s", row->name);
    for (int f = 0; f < TUTTI_NFIGURES; f++) {
        if (!(row->figures & 1u << f)) continue;
        char value[32];
        tutti_figure_print((tutti_figure)f, t->figure[f], value);
        used += snprintf(out + used, (size_t)(256 - used), ",%s=%s", figures[f].name, value);
    }
}

char *tutti_topology_describe(const tutti_topology *t)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb, "topology %s\n", row->name);
    for (int f = 0; f < TUTTI_NFIGURES; f++) {
        if (!(row->figures & 1u << f)) continue;
        char value[32];
        tutti_figure_print((tutti_figure)f, t->figure[f], value);
        tutti_strbuf_printf(&sb, "  %-7s %-14s %-9s %s\n", figures[f].name, value, tutti_provenance_name(t->from[f]),
                            figures[f].meaning);
    }
    return tutti_strbuf_detach(&sb);
}
