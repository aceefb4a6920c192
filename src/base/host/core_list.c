/* SPDX-License-Identifier: Apache-2.0 */
/* core_list.c: reads and prints sets of cores as the kernel writes them: "0-3,8". */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cores.h"

bool tutti_cores_has(const tutti_core_set *set, int core)
{
    return core >= 0 && core < TUTTI_MOST_CORES && (set->word[core / 64] >> core % 64 & 1);
}

void tutti_cores_put(tutti_core_set *set, int core)
{
    if (core >= 0 && core < TUTTI_MOST_CORES) set->word[core / 64] |= (uint64_t)1 << core % 64;
}

void tutti_cores_print(const tutti_core_set *set, tutti_strbuf *out)
{
    const char *between = "";
    for (int first = 0; first < TUTTI_MOST_CORES; first++) {
        if (!tutti_cores_has(set, first)) continue;
        int last = first;
        while (tutti_cores_has(set, last + 1)) last++;
        tutti_strbuf_printf(out, last > first ? "%s%d-%d" : "%s%d", between, first, last);
        between = ",";
        first = last;
    }
}

/* Reads a number at *at and moves *at behind it. Returns -1 if there are no digits, or more than a core number has. */
static int read_number(const char **at)
{
    const char *from = *at;
    int value = 0;
    for (; isdigit((unsigned char)**at) && *at - from < 5; ++*at) value = 10 * value + (**at - '0');
    return *at > from && value < TUTTI_MOST_CORES ? value : -1;
}

bool tutti_cores_parse(const char *text, tutti_core_set *out)
{
    tutti_core_set set = {0};
    for (const char *at = text;; at++) {
        const int first = read_number(&at);
        int last = first;
        if (*at == '-') {
            at++;
            last = read_number(&at);
        }
        if (first < 0 || last < first || (*at && *at != ',')) return false;
        for (int core = first; core <= last; core++) tutti_cores_put(&set, core);
        if (!*at) break;
    }
    *out = set;
    return true;
}
