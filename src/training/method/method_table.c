/* SPDX-License-Identifier: Apache-2.0 */
/* method_table.c: the ways in which ranks agree on weights, with their coordinates in the taxonomy of Langer et al. (2020):
 * who optimises, how ranks are scheduled, what travels in which pattern. A new method = its files + one row here. */
#include <string.h>

#include "method.h"

static const tutti_method_row rows[] = {
    {
        .name = "sync-sgd",
        .optimisation = "centralised",
        .schedule = "synchronous",
        .pattern = "sharded all-reduce: reduce-scatter, update of the own slice, all-gather",
        .travels = "gradients, then weights",
        .help = "every rank takes part in every step; what the rule keeps is kept once, by the owner of the slice",
    },
};
enum { NROWS = sizeof rows / sizeof rows[0] };

const tutti_method_row *tutti_method_at(int i)
{
    return i >= 0 && i < NROWS ? &rows[i] : NULL;
}

const tutti_method_row *tutti_method_find(const char *name)
{
    for (int i = 0; i < NROWS; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}
