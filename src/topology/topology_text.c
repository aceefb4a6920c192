/* SPDX-License-Identifier: Apache-2.0 */
/* topology_text.c: reads and prints the one-line text form of a topology, and describes it for people.
 *
 * A key is refused if it is wrong, if it does not belong to this kind of topology, or if it has no effect with the
 * other figures, because the user would believe that it has one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text/options.h"
#include "../base/text/strbuf.h"
#include "topology_impl.h"

/* Assumed part of a port's rate that is lost for each sender after the first one (incast). A port with a queue of 1 MiB
 * lost 0.01 at 300 Mbit/s (docs/topologies.md, incast). Faster ports are assumed to lose the same part. */
static const double ETHERNET_INCAST = 0.01;

static bool is_idle(const tutti_topology *t, tutti_figure f)
{
    if (f == TUTTI_FIGURE_INCAST && t->figure[f] == 0 && t->from[f] != TUTTI_FROM_GIVEN) return true;
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    return row->idle && row->idle(t, f);
}

static const tutti_preset *preset_find(const tutti_topology_row *row, const char *name, size_t nbytes)
{
    for (int i = 0; i < row->npresets; i++) {
        const char *known = tutti_figure_name(row->presets[i].figure);
        if (strlen(known) == nbytes && !memcmp(known, name, nbytes)) return &row->presets[i];
    }
    return NULL;
}

static tutti_status figure_unknown(const tutti_topology_row *row, const char *key, size_t n, tutti_failure *err)
{
    tutti_strbuf known = {0};
    for (int i = 0; i < row->npresets; i++)
        tutti_strbuf_printf(&known, " %s", tutti_figure_name(row->presets[i].figure));
    tutti_fail(err, TUTTI_ERR_USAGE, "topology: %s has no figure '%.*s'; it has%s", row->name, (int)n, key, known.text);
    tutti_strbuf_release(&known);
    return TUTTI_ERR_USAGE;
}

bool tutti_digits_read(const char *text, size_t n, size_t *at, size_t most, int32_t *out)
{
    const size_t from = *at;
    for (*out = 0; *at < n && *at < from + most && text[*at] >= '0' && text[*at] <= '9'; ++*at)
        *out = *out * 10 + (text[*at] - '0');
    return *at > from;
}

/* Parses a list such as "3.1.0.2": the seats of ranks 0, 1, 2, ... */
static bool seats_parse(tutti_topology *t, const char *text, size_t n)
{
    t->nlisted = 0;
    for (size_t at = 0; at < n;) {
        int32_t seat;
        const bool is_number = tutti_digits_read(text, n, &at, 6, &seat);
        bool more = at < n && text[at] == '.';
        if (!is_number || seat > UINT16_MAX || t->nlisted == TUTTI_MAX_SEATS_LISTED || (at < n && !more)) return false;
        t->listed[t->nlisted++] = (uint16_t)seat;
        if (more && ++at == n) return false;
    }
    return t->nlisted > 0;
}

/* Parses one "key=value" of n bytes. */
static tutti_status item_parse(tutti_topology *t, const char *item, size_t n, tutti_failure *err)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    const char *equals = memchr(item, '=', n);
    size_t key = equals ? (size_t)(equals - item) : n;
    const tutti_preset *preset = preset_find(row, item, key);
    if (!preset) return figure_unknown(row, item, key, err);
    tutti_figure f = preset->figure;
    const char *value = equals ? equals + 1 : NULL;
    size_t nvalue = equals ? n - key - 1 : 0;
    bool seats = f == TUTTI_FIGURE_PLACE && nvalue && value[0] >= '0' && value[0] <= '9', read = false;
    if (t->from[f] == TUTTI_FROM_GIVEN)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: %s is given twice", tutti_figure_name(f));
    if (seats) t->figure[f] = TUTTI_PLACE_LIST;
    if (equals && f == TUTTI_FIGURE_MESH)
        read = tutti_mesh_parse(t, value, nvalue);
    else if (equals)
        read = seats ? seats_parse(t, value, nvalue) : tutti_figure_parse(f, value, nvalue, &t->figure[f]);
    if (!read)
        return tutti_fail(err, TUTTI_ERR_USAGE, "topology: '%.*s': wanted a figure such as %s=%s",
                          (int)(n < 60 ? n : 60), item, tutti_figure_name(f), tutti_figure_example(f));
    t->from[f] = TUTTI_FROM_GIVEN;
    return TUTTI_OK;
}

static tutti_status kind_find(const char *text, size_t n, tutti_topology_kind *out, tutti_failure *err)
{
    char word[40];
    const char *known[TUTTI_TOPOLOGY_MAX_KINDS];
    snprintf(word, sizeof word, "%.*s", (int)(n < 39 ? n : 39), text);
    for (int k = 0; k < tutti_topology_nkinds(); k++) {
        known[k] = tutti_topology_row_at(k)->name;
        *out = (tutti_topology_kind)k;
        if (!strcmp(known[k], word)) return TUTTI_OK;
    }
    const char *nearest = tutti_options_nearest(word, known, tutti_topology_nkinds());
    tutti_strbuf all = {0};
    for (int k = 0; k < tutti_topology_nkinds(); k++) tutti_strbuf_printf(&all, "%s%s", k ? ", " : "", known[k]);
    tutti_fail(err, TUTTI_ERR_USAGE, "topology: no kind '%s';%s%s%s there are %s; for example star,bw=10Gb,lat=5us",
               word, nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", all.text);
    tutti_strbuf_release(&all);
    return TUTTI_ERR_USAGE;
}

/* Returns a failure if figures contradict each other. */
static tutti_status whole_check(const tutti_topology *t, tutti_failure *err)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    for (int i = 0; i < row->npresets; i++) {
        tutti_figure f = row->presets[i].figure;
        if (t->from[f] == TUTTI_FROM_GIVEN && is_idle(t, f))
            return tutti_fail(err, TUTTI_ERR_USAGE, "topology: %s has no effect here; see docs/topologies.md, %s",
                              tutti_figure_name(f), row->name);
    }
    tutti_status st = row->check ? row->check(t, err) : TUTTI_OK;
    return st ? st : tutti_place_check(t, err);
}

void tutti_topology_take_presets(const tutti_topology_row *row, tutti_topology *t)
{
    for (int i = 0; i < row->npresets; i++) {
        t->figure[row->presets[i].figure] = row->presets[i].value;
        t->from[row->presets[i].figure] = row->presets[i].from;
    }
}

static void take_machine(const tutti_topology_row *row, const tutti_host_shape *machine, tutti_topology *t)
{
    tutti_host_shape detected;
    if (!row->take) return;
    if (!machine) tutti_topology_detect(&detected);
    row->take(t, machine ? machine : &detected);
}

tutti_status tutti_topology_parse_on(const char *text, const tutti_host_shape *machine, tutti_topology *out,
                                     tutti_failure *err)
{
    size_t n = strcspn(text, ",");
    const bool is_named = text[0] == '@';
    tutti_topology t = {0};
    tutti_status st =
        is_named ? tutti_topology_take_machine(text + 1, n - 1, &t, err) : kind_find(text, n, &t.kind, err);
    if (st) return st;
    const tutti_topology_row *row = tutti_topology_row_at((int)t.kind);
    if (!is_named) {
        tutti_topology_take_presets(row, &t);
        take_machine(row, machine, &t);
    }
    bool ethernet = false;
    while (text[n] == ',') {
        text += n + 1;
        n = strcspn(text, ",");
        st = item_parse(&t, text, n, err);
        if (st) return st;
        ethernet |= tutti_figure_is_ethernet(text, n);
    }
    if (ethernet && row->behind_port && t.from[TUTTI_FIGURE_INCAST] != TUTTI_FROM_GIVEN)
        t.figure[TUTTI_FIGURE_INCAST] = ETHERNET_INCAST;
    st = whole_check(&t, err);
    if (!st) *out = t;
    return st;
}

tutti_status tutti_topology_parse(const char *text, tutti_topology *out, tutti_failure *err)
{
    return tutti_topology_parse_on(text, NULL, out, err);
}

static void value_print(const tutti_topology *t, tutti_figure f, tutti_strbuf *out)
{
    char value[64];
    if (f == TUTTI_FIGURE_PLACE && t->nlisted) {
        for (int32_t r = 0; r < t->nlisted; r++) tutti_strbuf_printf(out, "%s%d", r ? "." : "", t->listed[r]);
        return;
    }
    if (f == TUTTI_FIGURE_MESH) {
        tutti_mesh_print(t, out);
        return;
    }
    tutti_figure_print(f, t->figure[f], value);
    tutti_strbuf_puts(out, value);
}

char *tutti_topology_print(const tutti_topology *t)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    tutti_strbuf sb = {0};
    tutti_strbuf_puts(&sb, row->name);
    for (int i = 0; i < row->npresets; i++) {
        tutti_figure f = row->presets[i].figure;
        if (is_idle(t, f)) continue;
        tutti_strbuf_printf(&sb, ",%s=", tutti_figure_name(f));
        value_print(t, f, &sb);
    }
    return tutti_strbuf_detach(&sb);
}

char *tutti_topology_describe(const tutti_topology *t)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb, "topology %s", row->name);
    if (t->machine) {
        char *about_machine = tutti_topology_machine_about(t->machine);
        tutti_strbuf_printf(&sb, ", machine @%s: %s", t->machine, about_machine);
        free(about_machine);
    }
    tutti_strbuf_puts(&sb, "\n");
    for (int i = 0; i < row->npresets; i++) {
        const tutti_preset *preset = &row->presets[i];
        tutti_strbuf value = {0};
        if (is_idle(t, preset->figure)) continue;
        value_print(t, preset->figure, &value);
        bool as_preset = !t->machine && t->from[preset->figure] == preset->from && preset->source;
        tutti_strbuf_printf(&sb, "  %-8s %-14s %-9s %s%s%s%s", tutti_figure_name(preset->figure), value.text,
                            tutti_provenance_name(t->from[preset->figure]),
                            preset->meaning ? preset->meaning : tutti_figure_meaning(preset->figure),
                            as_preset ? " [" : "", as_preset ? preset->source : "", as_preset ? "]" : "");
        tutti_topology_machine_source(t, preset->figure, &sb);
        tutti_strbuf_puts(&sb, "\n");
        tutti_strbuf_release(&value);
    }
    tutti_topology_machine_nodes(t, &sb);
    return tutti_strbuf_detach(&sb);
}
