/* SPDX-License-Identifier: Apache-2.0 */
/* cli_numbers.c: reads whole numbers, lists of numbers, hosts and sizes from flags. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/text/options.h"
#include "cli.h"

static tutti_status read_whole(const char *name, const char *text, size_t length, tutti_cli_range range, long *out,
                               tutti_failure *err)
{
    char copy[32], *end = NULL;
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1), text);
    errno = 0;
    long value = strtol(copy, &end, 10);
    if (!tutti_options_is_number(copy) || end == copy || *end || errno || length >= sizeof copy)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: '%.*s' is not a whole number", name, (int)length, text);
    if (value < range.from || value > range.to)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: %ld is outside %ld .. %ld", name, value, range.from, range.to);
    *out = value;
    return TUTTI_OK;
}

tutti_status tutti_cli_int(const tutti_flags *f, const char *name, tutti_cli_range range, long otherwise, long *out,
                           tutti_failure *err)
{
    const char *text = tutti_cli_value(f, name, NULL);
    if (text) return read_whole(name, text, strlen(text), range, out, err);
    *out = otherwise;
    return TUTTI_OK;
}

/* adds_up returns true if equal steps lead from the first n numbers of the list to `last`; multiplies, if equal factors
 * do. */
static bool adds_up(const long *list, int n, long last)
{
    const long step = list[n - 1] - list[n - 2];
    return step > 0 && (n < 3 || list[n - 2] - list[n - 3] == step) && last > list[n - 1] &&
           (last - list[n - 1]) % step == 0;
}

static bool multiplies(const long *list, int n, long last)
{
    const long a = list[n - 2], b = list[n - 1];
    if (a <= 0 || b <= a || b % a) return false;
    if (n > 2 && (list[n - 3] <= 0 || a % list[n - 3] || a / list[n - 3] != b / a)) return false;
    long at = b;
    while (at < last && at <= last / (b / a)) at *= b / a;
    return last > b && at == last;
}

/* For "1,2,4,..,64": continues the list by the steps of the numbers before the dots, up to the number behind them. */
static tutti_status continue_list(const char *name, long last, tutti_cli_list *l, tutti_failure *err)
{
    if (l->n < 2)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: '..' goes on as two numbers or more began: 1,2,4,..,64", name);
    const long a = l->numbers[l->n - 2], b = l->numbers[l->n - 1];
    const bool adds = adds_up(l->numbers, l->n, last), grows = multiplies(l->numbers, l->n, last);
    if (!adds && !grows)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: neither equal steps nor equal factors lead from %ld, %ld to %ld",
                          name, a, b, last);
    if (adds && grows)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--%s: %ld,%ld,..,%ld may go on with %ld or with %ld; write a third number", name, a, b, last,
                          b + b - a, b * (b / a));
    for (long at = b; at != last;) {
        if (l->n == l->most) return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: more than %d numbers", name, l->most);
        at = adds ? at + (b - a) : at * (b / a);
        l->numbers[l->n++] = at;
    }
    return TUTTI_OK;
}

static bool are_points(const char *text, size_t length)
{
    return (length == 2 || length == 3) && !strncmp(text, "...", length);
}

tutti_status tutti_cli_ints(const tutti_flags *f, const char *name, tutti_cli_range range, tutti_cli_list *out,
                            tutti_failure *err)
{
    const char *text = tutti_cli_value(f, name, NULL);
    long number;
    bool goes_on = false;
    out->n = 0;
    while (text) {
        const size_t length = strcspn(text, ",");
        const char *next = text[length] ? text + length + 1 : NULL;
        const bool points = next && !goes_on && are_points(text, length);
        if (!points && out->n == out->most)
            return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: more than %d numbers", name, out->most);
        tutti_status st = points ? TUTTI_OK : read_whole(name, text, length, range, &number, err);
        if (!st && goes_on)
            st = continue_list(name, number, out, err);
        else if (!st && !points)
            out->numbers[out->n++] = number;
        if (st) return st;
        goes_on = points;
        text = next;
    }
    return TUTTI_OK;
}

tutti_status tutti_cli_bytes(const char *where, const char *text, long long *out, tutti_failure *err)
{
    int64_t bytes = 0;
    tutti_arena arena = {0};
    const tutti_field field = {where, TUTTI_FIELD_BYTES, 0, "0", NULL, 0, 9e15, "bytes"};
    const tutti_field_table table = {&field, 1};
    tutti_status st = tutti_options_set(&(tutti_options_into){&table, &arena, &bytes}, "argument", where, text, err);
    tutti_arena_release(&arena);
    if (st == TUTTI_OK) *out = bytes;
    return st;
}

tutti_status tutti_cli_hosts(const tutti_flags *f, int32_t nranks, int32_t *host_of, tutti_failure *err)
{
    long *sizes = tutti_alloc(sizeof *sizes * (size_t)nranks), next = 0;
    tutti_cli_list list = {sizes, nranks, 0};
    tutti_status st = tutti_cli_ints(f, "hosts", (tutti_cli_range){1, nranks}, &list, err);
    for (int host = 0; st == TUTTI_OK && host < list.n; host++) {
        for (long r = next; r < next + sizes[host] && r < nranks; r++) host_of[r] = host;
        next += sizes[host];
    }
    if (st == TUTTI_OK && next != nranks)
        st =
            tutti_fail(err, TUTTI_ERR_USAGE, "--hosts '%s': ranks of each host, %d together, are wanted, such as %d,%d",
                       tutti_cli_value(f, "hosts", ""), nranks, (nranks + 1) / 2, nranks / 2);
    free(sizes);
    return st;
}
