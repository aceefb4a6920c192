/* SPDX-License-Identifier: Apache-2.0 */
/* coll_compile.c: `tutti coll compile ALGORITHM --ranks P`: the schedule as text (docs/schedule-format.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../base/hash.h"
#include "coll.h"

static const tutti_flag flags[] = {
    TUTTI_COLL_SCHEDULE_FLAGS,
    {"out", "F", "write it to file F and say its hash (also: -o F)", false},
};
enum { NFLAGS = sizeof flags / sizeof flags[0], MAX_TEXT_RANKS = 4096 };

static tutti_status write_text(const tutti_schedule *s, const char *path, tutti_failure *err)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    if (head->nranks > MAX_TEXT_RANKS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks: the text form holds at most %d", head->nranks,
                          MAX_TEXT_RANKS);
    char *text = tutti_schedule_print(s), hash[17];
    tutti_status st = TUTTI_OK;
    if (!path) {
        if (fputs(text, stdout) < 0 || fflush(stdout))
            st = tutti_fail(err, TUTTI_ERR_FAILED, "standard output cannot be written");
    } else {
        st = tutti_file_write_atomic(path, text, strlen(text), err);
    }
    free(text);
    if (st != TUTTI_OK || !path) return st;
    tutti_hash_text(tutti_schedule_hash(s), hash);
    printf("%s: %s %s of %d ranks (%s), hash %s\n", path, head->algorithm, tutti_collective_name(head->collective),
           head->nranks, tutti_wire_class_name(head->wire), hash);
    return TUTTI_OK;
}

int tutti_coll_compile(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    tutti_coll_schedule s;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-o")) argv[i] = "--out";
    tutti_status st = tutti_cli_parse(argc, argv, flags, NFLAGS, &f, &err);
    if (st == TUTTI_OK && f.help) {
        tutti_cli_help(
            stdout, "tutti coll compile ALGORITHM --ranks P [options]",
            "Prints the steps of all ranks. 'tutti coll list' shows the algorithms, 'tutti coll check' proves the\n"
            "result.",
            flags, NFLAGS);
        return 0;
    }
    if (st == TUTTI_OK && f.nrest != 1)
        st = tutti_fail(&err, TUTTI_ERR_USAGE, "one algorithm is wanted: tutti coll compile ALGORITHM --ranks P");
    if (st == TUTTI_OK) st = tutti_coll_compile_flags(f.rest[0], &f, &s, &err);
    if (st != TUTTI_OK) return tutti_cli_fail("coll compile", &err);
    st = write_text(s.schedule, tutti_cli_value(&f, "out", NULL), &err);
    tutti_coll_close(&s);
    return st == TUTTI_OK ? 0 : tutti_cli_fail("coll compile", &err);
}
