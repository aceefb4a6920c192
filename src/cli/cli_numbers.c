/* SPDX-License-Identifier: Apache-2.0 */
/* cli_numbers.c: whole numbers, lists of them and sizes, as flags have them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/options.h"
#include "cli.h"

static tutti_status read_whole(const char *name, const char *text, size_t length, long range[2], long *out,
                               tutti_failure *err)
{
    char copy[32], *end = NULL;
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1), text);
    errno = 0;
    long value = strtol(copy, &end, 10);
    if (end == copy || *end || errno || length >= sizeof copy)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: '%.*s' is not a whole number", name, (int)length, text);
    if (value < range[0] || value > range[1])
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: %ld is outside %ld .. %ld", name, value, range[0], range[1]);
    *out = value;
    return TUTTI_OK;
}

tutti_status tutti_cli_int(const tutti_flags *f, const char *name, long lo, long hi, long otherwise, long *out,
                           tutti_failure *err)
{
    const char *text = tutti_cli_value(f, name, NULL);
    long range[2] = {lo, hi};
    if (text) return read_whole(name, text, strlen(text), range, out, err);
    *out = otherwise;
    return TUTTI_OK;
}

tutti_status tutti_cli_ints(const tutti_flags *f, const char *name, long lo, long hi, long *out, int max, int *n,
                            tutti_failure *err)
{
    const char *text = tutti_cli_value(f, name, NULL);
    long range[2] = {lo, hi};
    *n = 0;
    while (text) {
        size_t length = strcspn(text, ",");
        if (*n == max) return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: more than %d numbers", name, max);
        tutti_status st = read_whole(name, text, length, range, &out[*n], err);
        if (st != TUTTI_OK) return st;
        ++*n;
        text = text[length] ? text + length + 1 : NULL;
    }
    return TUTTI_OK;
}

tutti_status tutti_cli_bytes(const char *where, const char *text, long long *out, tutti_failure *err)
{
    int64_t bytes = 0;
    tutti_arena arena = {0};
    const tutti_field field = {where, TUTTI_FIELD_BYTES, 0, "0", NULL, 0, 9e15, "bytes"};
    const tutti_field_table table = {&field, 1};
    tutti_status st = tutti_options_set(&table, "argument", where, text, &arena, &bytes, err);
    tutti_arena_release(&arena);
    if (st == TUTTI_OK) *out = bytes;
    return st;
}
