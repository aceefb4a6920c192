/* SPDX-License-Identifier: Apache-2.0 */
/* units.c: reads and writes times, prices and bytes. */
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/text/options.h"

tutti_status tutti_predict_read_real(const char *where, const char *text, double least, double most, double *out,
                                     tutti_failure *err)
{
    tutti_arena arena = {0};
    const tutti_field field = {where, TUTTI_FIELD_REAL, 0, "0", NULL, least, most, ""};
    const tutti_field_table table = {&field, 1};
    const tutti_status st = tutti_options_set(&(tutti_options_into){&table, &arena, out}, "argument", where, text, err);
    tutti_arena_release(&arena);
    return st;
}

typedef struct {
    const char *name;
    double seconds;
} unit;

static const unit units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};

/* Returns the unit that ends the text, if `before` (such as a slash) stands in front of the unit; else NULL. *length
 * becomes the length of the text without both. */
static const unit *unit_of(const char *text, const char *before, size_t *length)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t n = strlen(text), own = strlen(units[i].name), all = own + strlen(before);
        if (n <= all || strcmp(text + n - own, units[i].name) || strncmp(text + n - all, before, strlen(before)))
            continue;
        *length = n - all;
        return &units[i];
    }
    return NULL;
}

static tutti_status read_part(const char *where, const char *text, size_t length, double *out, tutti_failure *err)
{
    char number[32];
    if (length >= sizeof number) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' is too long a number", where, text);
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    return tutti_predict_read_real(where, number, 0, 1e12, out, err);
}

tutti_status tutti_predict_read_time(const char *where, const char *text, double *seconds, tutti_failure *err)
{
    size_t length;
    const unit *u = unit_of(text, "", &length);
    if (!u) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' is no time, such as 12h, 90min or 2d", where, text);
    const tutti_status st = read_part(where, text, length, seconds, err);
    if (st) return st;
    *seconds *= u->seconds;
    return *seconds > 0 ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s is over at once", where, text);
}

tutti_status tutti_predict_read_price(const char *where, const char *text, double *price, tutti_failure *err)
{
    size_t length = strlen(text);
    const unit *u = unit_of(text, "/", &length);
    if (!u && strchr(text, '/'))
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' is not a price of a node and time, such as 3/h", where, text);
    const tutti_status st = read_part(where, text, length, price, err);
    if (!st && u) *price *= 3600 / u->seconds;
    return st;
}

void tutti_predict_time_words(double seconds, char out[16])
{
    if (!isfinite(seconds))
        snprintf(out, 16, "-");
    else if (seconds < 120)
        snprintf(out, 16, "%.1f s", seconds);
    else if (seconds < 2 * 3600)
        snprintf(out, 16, "%.1f min", seconds / 60);
    else
        snprintf(out, 16, "%.1f h", seconds / 3600);
}

void tutti_predict_bytes_words(int64_t bytes, char out[16])
{
    static const char *const words[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int i = 0;
    while (value >= 1024 && i < 4) value /= 1024, i++;
    snprintf(out, 16, i ? "%.2f %s" : "%.0f %s", value, words[i]);
}
