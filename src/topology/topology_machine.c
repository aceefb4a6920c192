/* SPDX-License-Identifier: Apache-2.0 */
/* topology_machine.c: machines with names, such as "@v100-25gbe". A machine is a kind of topology and its figures, each
 * with its source, from a file of src/topology/machines (base/text/sourced.h) that the build embeds. A key of such a
 * file is a figure of the kind, or one of these: role.NAME is the number of nodes with a role, price.NAME is the price
 * of one such node, and life is the number of hours of work that a price buys. Ranks sit on the nodes of
 * role.compute. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text/options.h"
#include "../base/text/sourced.h"
#include "../base/text/strbuf.h"
#include "topology_impl.h"

extern const tutti_embedded_text tutti_shipped_machines[]; /* the machine files of this repository, which the build
                                                            * embeds */

const char *tutti_topology_machine_at(int i)
{
    for (int n = 0; tutti_shipped_machines[n].name; n++)
        if (n == i) return tutti_shipped_machines[n].name;
    return NULL;
}

/* Returns the file of the machine whose name is the n bytes of `name`. */
static const tutti_embedded_text *row_of(const char *name, size_t n)
{
    for (const tutti_embedded_text *m = tutti_shipped_machines; m->name; m++)
        if (strlen(m->name) == n && !memcmp(m->name, name, n)) return m;
    return NULL;
}

static tutti_status open_file(const char *name, tutti_sourced *out, tutti_failure *err)
{
    return tutti_sourced_parse(name, tutti_embedded_find(tutti_shipped_machines, name), out, err);
}

static tutti_status name_unknown(const char *text, size_t n, tutti_failure *err)
{
    char word[40], *names = tutti_embedded_names(tutti_shipped_machines);
    const char *known[TUTTI_TOPOLOGY_MAX_KINDS];
    int nknown = 0;
    snprintf(word, sizeof word, "%.*s", (int)(n < 39 ? n : 39), text);
    for (; nknown < TUTTI_TOPOLOGY_MAX_KINDS && tutti_shipped_machines[nknown].name; nknown++)
        known[nknown] = tutti_shipped_machines[nknown].name;
    const char *nearest = tutti_options_nearest(word, known, nknown);
    tutti_fail(err, TUTTI_ERR_USAGE, "topology: no machine '@%s';%s%s%s there are %s", word,
               nearest ? " did you mean '@" : "", nearest ? nearest : "", nearest ? "'?" : "", names);
    free(names);
    return TUTTI_ERR_USAGE;
}

static bool is_of_nodes(const char *key)
{
    return !strncmp(key, "role.", 5) || !strncmp(key, "price.", 6) || !strcmp(key, "life");
}

static tutti_provenance provenance_of(const char *word)
{
    if (!strcmp(word, "read")) return TUTTI_FROM_READ;
    return strcmp(word, "measured") ? TUTTI_FROM_ASSUMED : TUTTI_FROM_MEASURED;
}

/* Parses the value of a figure. "12GB/s" is the figure "12GB", because machine files write rates with "/s". */
static bool value_take(tutti_topology *t, tutti_figure f, const char *value)
{
    size_t n = strlen(value);
    if (n > 3 && !strcmp(value + n - 3, "B/s")) n -= 2;
    return tutti_figure_parse(f, value, n, &t->figure[f]);
}

static tutti_status lines_take(const tutti_sourced *s, const tutti_topology_row *row, tutti_topology *t,
                               tutti_failure *err)
{
    for (int i = 0; i < s->n; i++) {
        const tutti_sourced_line *l = &s->lines[i];
        if (!l->from || is_of_nodes(l->key)) continue;
        const tutti_preset *preset = NULL;
        for (int p = 0; p < row->npresets && !preset; p++)
            if (!strcmp(tutti_figure_name(row->presets[p].figure), l->key)) preset = &row->presets[p];
        if (!preset || !value_take(t, preset->figure, l->value))
            return tutti_fail(err, TUTTI_ERR_DATA, "machine %s: line %d: '%s %s' is not a figure of %s", s->name,
                              l->line, l->key, l->value, row->name);
        t->from[preset->figure] = provenance_of(l->from);
    }
    return TUTTI_OK;
}

tutti_status tutti_topology_take_machine(const char *text, size_t n, tutti_topology *t, tutti_failure *err)
{
    const tutti_embedded_text *known = row_of(text, n);
    tutti_sourced s;
    if (!known) return name_unknown(text, n, err);
    tutti_status st = open_file(known->name, &s, err);
    if (st) return st;
    const tutti_sourced_line *kind = tutti_sourced_get(&s, "kind");
    const tutti_topology_row *row = NULL;
    for (int k = 0; kind && k < tutti_topology_nkinds(); k++)
        if (!strcmp(tutti_topology_row_at(k)->name, kind->value)) {
            t->kind = (tutti_topology_kind)k;
            row = tutti_topology_row_at(k);
        }
    if (!row) st = tutti_fail(err, TUTTI_ERR_DATA, "machine %s: no line 'kind: KIND' of a kind that there is", s.name);
    if (!st) {
        tutti_topology_take_presets(row, t);
        t->machine = known->name;
        st = lines_take(&s, row, t, err);
    }
    tutti_sourced_release(&s);
    return st;
}

/* ---- adding hosts until all ranks have a seat ---- */

void tutti_topology_grow(tutti_topology *t, int32_t nranks)
{
    const tutti_topology_row *row = tutti_topology_row_at((int)t->kind);
    const bool has_hosts = tutti_topology_preset(row, TUTTI_FIGURE_HOSTS) != NULL;
    if (!t->machine || !has_hosts || t->from[TUTTI_FIGURE_HOSTS] == TUTTI_FROM_GIVEN || nranks < 1) return;
    /* the caller's list of seats names seats of the topology at its present size, so it does not grow */
    if (t->nlisted) return;
    const double hosts = t->figure[TUTTI_FIGURE_HOSTS];
    const double seats_of_one = row->nseats(t, nranks) / hosts;
    t->figure[TUTTI_FIGURE_HOSTS] = fmax(1, ceil(nranks / seats_of_one));
    t->from[TUTTI_FIGURE_HOSTS] = TUTTI_FROM_ASSUMED;
}

/* ---- descriptions for people ---- */

char *tutti_topology_machine_about(const char *name)
{
    tutti_sourced s;
    tutti_strbuf out = {0};
    if (!tutti_embedded_find(tutti_shipped_machines, name) || open_file(name, &s, NULL))
        return tutti_strbuf_detach(&out);
    const tutti_sourced_line *about = tutti_sourced_get(&s, "about"), *network = tutti_sourced_get(&s, "network"),
                             *rate = tutti_sourced_get(&s, "nic");
    if (!rate) rate = tutti_sourced_get(&s, "bw");
    if (about) tutti_strbuf_puts(&out, about->value);
    if (network && rate) tutti_strbuf_printf(&out, " [%s, %s %s]", network->value, rate->value, rate->from);
    tutti_sourced_release(&s);
    return tutti_strbuf_detach(&out);
}

/* Writes the source of a figure if the figure still has the machine's value. Otherwise it writes nothing. */
void tutti_topology_machine_source(const tutti_topology *t, tutti_figure f, tutti_strbuf *out)
{
    tutti_sourced s;
    if (!t->machine || t->from[f] == TUTTI_FROM_GIVEN || open_file(t->machine, &s, NULL)) return;
    const tutti_sourced_line *l = tutti_sourced_get(&s, tutti_figure_name(f));
    const bool has_grown = f == TUTTI_FIGURE_HOSTS && l && strtod(l->value, NULL) != t->figure[f];
    if (l) tutti_strbuf_printf(out, " [%s]", has_grown ? "as many as the ranks fill" : l->words);
    tutti_sourced_release(&s);
}

void tutti_topology_machine_nodes(const tutti_topology *t, tutti_strbuf *out)
{
    tutti_sourced s;
    bool begun = false;
    if (!t->machine || open_file(t->machine, &s, NULL)) return;
    for (int i = 0; i < s.n; i++) {
        const tutti_sourced_line *l = &s.lines[i];
        if (!l->from || !is_of_nodes(l->key)) continue;
        tutti_strbuf_printf(out, "%s  %-16s %-8s %-9s %s\n", begun ? "" : "nodes and prices\n", l->key, l->value,
                            l->from, l->words);
        begun = true;
    }
    tutti_sourced_release(&s);
}

/* ---- prices ---- */

static bool number_of(const tutti_sourced *s, const char *key, double *out)
{
    const tutti_sourced_line *l = tutti_sourced_get(s, key);
    return l && l->from && !tutti_sourced_number(s, l, "", out, NULL);
}

bool tutti_topology_machine_prices(const tutti_topology *t, tutti_machine_prices *out)
{
    tutti_sourced s;
    tutti_machine_prices found = {0};
    if (!t->machine || open_file(t->machine, &s, NULL)) return false;
    const bool has =
        number_of(&s, "price.compute", &found.node) && number_of(&s, "life", &found.hours) && found.hours > 0;
    for (int i = 0; i < s.n && has; i++) {
        const tutti_sourced_line *l = &s.lines[i];
        char role[80];
        double price = 0, count = 1;
        if (!l->from || strncmp(l->key, "price.", 6) != 0 || !strcmp(l->key, "price.compute")) continue;
        snprintf(role, sizeof role, "role.%.60s", l->key + 6);
        number_of(&s, l->key, &price);
        number_of(&s, role, &count); /* for the network, which has no role, count stays 1 */
        found.once += price * count;
    }
    tutti_sourced_release(&s);
    if (has) *out = found;
    return has;
}
