/* SPDX-License-Identifier: Apache-2.0 */
/* coll_ranges.c: the table of `tutti coll explain --ranges`: from which size to which one which algorithm is best. */
#include <stdio.h>

#include "../base/json.h"
#include "coll_ranges.h"

static void print_json(const tutti_range *r, int64_t first, int64_t last)
{
    tutti_strbuf out = {0};
    tutti_json j = {.out = &out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "algorithm", r->algorithm);
    tutti_json_int(&j, "first_bytes", first);
    tutti_json_int(&j, "last_bytes", last);
    tutti_json_real(&j, "first_s", r->first_s);
    tutti_json_real(&j, "last_s", r->last_s);
    tutti_json_close(&j, '}');
    puts(out.text);
    tutti_strbuf_release(&out);
}

void tutti_coll_print_ranges(const tutti_ranges *ranges, int64_t nrows, bool json)
{
    if (!json) printf("%14s %14s  %-36s %13s %13s\n", "from bytes", "to bytes", "algorithm", "predicted", "to");
    for (int i = 0; i < ranges->nranges; i++) {
        const tutti_range *r = &ranges->ranges[i];
        int64_t first = r->first * TUTTI_ELEMENT_BYTES / nrows, last = r->last * TUTTI_ELEMENT_BYTES / nrows;
        if (json)
            print_json(r, first, last);
        else
            printf("%14lld %14lld  %-36s %11.2fus %11.2fus\n", (long long)first, (long long)last, r->algorithm,
                   r->first_s * 1e6, r->last_s * 1e6);
    }
    if (json) return;
    if (*ranges->skipped) printf("\nleft out, too many steps (--all takes them): %s\n", ranges->skipped);
    printf("\nBorders are within 1/256. Not in the model: packets, congestion control, other users of the machine.\n");
}
