/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_names.c: names collectives, kinds of steps and other enums, for the text form and messages. It also answers
 * whether a rank gets the whole result of a collective or a slice. */
#include <assert.h>
#include <string.h>

#include "tutti/schedule.h"

static const char *word(const char *const *words, unsigned n, unsigned i)
{
    return i < n ? words[i] : "unknown";
}

const char *tutti_collective_name(tutti_collective c)
{
    static const char *const words[] = {"allreduce", "reduce-scatter", "all-gather", "gather",
                                        "broadcast", "reduce",         "all-to-all", "barrier"};
    static_assert(sizeof words / sizeof *words == TUTTI_NCOLLECTIVES, "a word for each, in their order");
    return word(words, TUTTI_NCOLLECTIVES, (unsigned)c);
}

bool tutti_collective_find(const char *name, tutti_collective *out)
{
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
        if (!strcmp(tutti_collective_name((tutti_collective)c), name)) {
            *out = (tutti_collective)c;
            return true;
        }
    return false;
}

bool tutti_collective_reduces(tutti_collective c)
{
    return c == TUTTI_ALLREDUCE || c == TUTTI_REDUCE_SCATTER || c == TUTTI_REDUCE;
}

bool tutti_collective_takes_slices(tutti_collective c)
{
    return c == TUTTI_ALL_GATHER || c == TUTTI_GATHER;
}

bool tutti_collective_gives_slices(tutti_collective c)
{
    return c == TUTTI_REDUCE_SCATTER;
}

bool tutti_collective_has_root(tutti_collective c)
{
    return c == TUTTI_GATHER || c == TUTTI_BROADCAST || c == TUTTI_REDUCE;
}

const char *tutti_wire_class_name(tutti_wire_class c)
{
    static const char *const words[] = {"two-sided", "mapped", "one-sided", "mixed"};
    static_assert(sizeof words / sizeof *words == TUTTI_NWIRE_CLASSES, "a word for each, in their order");
    return word(words, TUTTI_NWIRE_CLASSES, (unsigned)c);
}

const char *tutti_determinism_name(tutti_determinism d)
{
    static const char *const words[] = {"per-slice", "fixed", "canonical"};
    enum { N = sizeof words / sizeof *words };
    static_assert(N == TUTTI_DETERMINISM_CANONICAL + 1, "a word for each, in their order");
    return word(words, N, (unsigned)d);
}

const char *tutti_step_kind_name(tutti_step_kind k)
{
    static const char *const words[] = {"nop", "send", "recv", "put", "signal", "wait", "reduce", "copy"};
    static_assert(sizeof words / sizeof *words == TUTTI_NSTEP_KINDS, "a word for each, in their order");
    return word(words, TUTTI_NSTEP_KINDS, (unsigned)k);
}
