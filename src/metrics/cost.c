/* SPDX-License-Identifier: Apache-2.0 */
/* cost.c: charges the time between two readings of the clock to a part of the costs (compute, exchange, wait), and
 * prints the table of costs. */
#include "metrics.h"

#include <assert.h>
#include <stdbool.h>

#include "../base/clock.h"

typedef struct {
    const char *key, *words;
    bool may_be_absent; /* the part is left out of the table if its time is exactly 0: the run had no such work */
} cost_row;

static const cost_row rows[] = {
    {"data_io", "data I/O", false},
    {"initialisation", "initialisation", false},
    {"exchange", "exchange between ranks", false},
    {"batch_copy", "batch, host to device", true},
    {"weights_copy", "weights, host to device", true},
    {"compute", "forward and backward", false},
    {"update", "update on the workers", false},
    {"centre", "update at the centre", true},
    {"evaluation", "evaluation", false},
    {"checkpoint", "checkpoints", false},
    {"other", "other", false},
};
static_assert(sizeof rows / sizeof *rows == TUTTI_NCOSTS, "one row a part");

const char *tutti_cost_key(tutti_cost_part part)
{
    return rows[part].key;
}

const char *tutti_cost_words(tutti_cost_part part)
{
    return rows[part].words;
}

void tutti_cost_begin(tutti_cost *c, int64_t now_ns)
{
    *c = (tutti_cost){.charged_ns = now_ns};
}

int64_t tutti_cost_charge(tutti_cost *c, tutti_cost_part part)
{
    const int64_t now = tutti_clock_ns();
    c->ns[part] += now - c->charged_ns;
    c->charged_ns = now;
    return now;
}

void tutti_cost_table(const double seconds[TUTTI_NCOSTS], int nranks, tutti_strbuf *out)
{
    double total = 0;
    bool absent = false;
    for (int p = 0; p < TUTTI_NCOSTS; p++) total += seconds[p];
    tutti_strbuf_printf(out, "where the time went (%s%d rank%s)\n", nranks > 1 ? "mean of " : "", nranks,
                        nranks > 1 ? "s" : "");
    for (int p = 0; p < TUTTI_NCOSTS; p++) {
        if (rows[p].may_be_absent && seconds[p] == 0) {
            tutti_strbuf_printf(out, "  %-24s %11s  %8s\n", rows[p].words, "-", "-");
            absent = true;
        } else {
            tutti_strbuf_printf(out, "  %-24s %9.3f s  %6.1f %%\n", rows[p].words, seconds[p],
                                total > 0 ? 100 * seconds[p] / total : 0);
        }
    }
    tutti_strbuf_printf(out, "  %-24s %9.3f s\n", "in all", total);
    if (absent) tutti_strbuf_puts(out, "  -: not in this run: docs/metrics.md says why\n");
}

void tutti_cost_add_words(const tutti_cost_more *more, const double seconds[TUTTI_NCOSTS], int nranks,
                          tutti_strbuf *out)
{
    static const double LONGER = 1.5, LEAST_S = 0.1;
    const double all = seconds[TUTTI_COST_COMPUTE] * nranks;
    const double others = nranks > 1 ? (all - more->slowest_s) / (nranks - 1) : 0;
    if (nranks > 1 && more->slowest_s > LONGER * others && more->slowest_s > others + LEAST_S)
        tutti_strbuf_printf(out, "  rank %d computed for %.3g s, the other ranks for %.3g s in the mean\n",
                            more->slowest, more->slowest_s, others);
    if (more->served > 0)
        tutti_strbuf_printf(out, "  rank 0 was at the centre for workers of other hosts for %.3g s, in their rows\n",
                            more->served);
}
