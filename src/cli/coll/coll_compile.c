/* SPDX-License-Identifier: Apache-2.0 */
/* coll_compile.c: `tutti coll compile ALGORITHM --ranks P`: the schedule as text (docs/schedule-format.md). */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/hash.h"
#include "coll.h"

static const tutti_flag flags[] = {
    TUTTI_COLL_SCHEDULE_FLAGS,
    {"out", "F", "write it to file F and say its hash", TUTTI_FLAG_WRITES},
};

static tutti_status compile(const tutti_flags *f, tutti_failure *err)
{
    tutti_coll_schedule s;
    char *text = NULL, hash[17];
    const char *path = tutti_cli_value(f, "out", NULL);
    tutti_status st = tutti_coll_compile_flags(f->rest[0], f, &s, err);
    if (st != TUTTI_OK) return st;
    st = tutti_coll_text(s.schedule, &text, err);
    if (st == TUTTI_OK) st = tutti_cli_write(path, text, err);
    if (st == TUTTI_OK && path) {
        const tutti_schedule_header *head = tutti_schedule_head(s.schedule);
        tutti_hash_text(tutti_schedule_hash(s.schedule), hash);
        printf("%s: %s %s of %d ranks (%s), hash %s\n", path, head->algorithm, tutti_collective_name(head->collective),
               head->nranks, tutti_wire_class_name(head->wire), hash);
    }
    free(text);
    tutti_coll_close(&s);
    return st;
}

int tutti_coll_compile(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll compile",
        .usage = "tutti coll compile ALGORITHM --ranks P [options]",
        .about =
            "Prints the steps of all ranks. 'tutti coll list' shows the algorithms, 'tutti coll check' proves the\n"
            "result.",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one algorithm is wanted: tutti coll compile ALGORITHM --ranks P",
        .run = compile,
    };
    return tutti_cli_run(&form, argc, argv);
}
