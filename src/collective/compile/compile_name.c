/* SPDX-License-Identifier: Apache-2.0 */
/* compile_name.c: reads and prints the text of an algorithm, a name with parameters: "hierarchical,group=4".
 *
 * The printed text has all parameters of the row, in the row's order, so that two schedules made with the same values
 * have the same text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/text/options.h"
#include "algorithms.h"

int tutti_algorithm_nparameters(const tutti_algorithm *a)
{
    int n = 0;
    while (n < TUTTI_MAX_PARAMETERS && a->parameters[n].name) n++;
    return n;
}

static tutti_status unknown_parameter(const tutti_algorithm *a, const char *key, tutti_failure *err)
{
    const char *known[TUTTI_MAX_PARAMETERS];
    int n = tutti_algorithm_nparameters(a);
    if (!n) return tutti_fail(err, TUTTI_ERR_USAGE, "%s has no parameters, so no '%s'", a->name, key);
    char list[200] = "";
    for (int i = 0; i < n; i++) {
        size_t length = strlen(list);
        known[i] = a->parameters[i].name;
        snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", known[i]);
    }
    const char *nearest = tutti_options_nearest(key, known, n);
    if (nearest)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s has no parameter '%s'; did you mean '%s'?", a->name, key, nearest);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s has no parameter '%s'; it has %s", a->name, key, list);
}

/* Reads a value: only digits, at most 9 of them. */
static tutti_status read_value(const tutti_algorithm *a, const tutti_parameter *p, const char *value, int32_t *out,
                               tutti_failure *err)
{
    size_t length = strlen(value);
    bool digits = length > 0 && length <= 9 && strspn(value, "0123456789") == length;
    long number = digits ? strtol(value, NULL, 10) : -1;
    if (!digits || number < p->lowest || number > p->highest)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s '%.20s': a whole number from %d to %d is wanted", a->name,
                          p->name, value, p->lowest, p->highest);
    *out = (int32_t)number;
    return TUTTI_OK;
}

tutti_status tutti_algorithm_read(const tutti_algorithm *a, const char *text, int32_t param[TUTTI_MAX_PARAMETERS],
                                  tutti_failure *err)
{
    int n = tutti_algorithm_nparameters(a);
    unsigned given = 0;
    for (int i = 0; i < TUTTI_MAX_PARAMETERS; i++) param[i] = i < n ? a->parameters[i].initial : 0;
    for (const char *at = text + strlen(a->name); *at == ',';) {
        char item[TUTTI_ALGORITHM_TEXT];
        size_t length = strcspn(++at, ",");
        int k = 0;
        snprintf(item, sizeof item, "%.*s", (int)length, at);
        at += length;
        char *value = strchr(item, '=');
        if (value) *value++ = 0;
        while (k < n && strcmp(a->parameters[k].name, item)) k++;
        if (k == n) return unknown_parameter(a, item, err);
        if (given & 1u << k)
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s is given twice: '%s'", a->name, item, text);
        given |= 1u << k;
        tutti_status st = read_value(a, &a->parameters[k], value ? value : "", &param[k], err);
        if (st != TUTTI_OK) return st;
    }
    return TUTTI_OK;
}

void tutti_algorithm_print(const tutti_algorithm *a, const int32_t param[TUTTI_MAX_PARAMETERS],
                           char out[TUTTI_ALGORITHM_TEXT])
{
    int at = snprintf(out, TUTTI_ALGORITHM_TEXT, "%s", a->name), n = tutti_algorithm_nparameters(a);
    for (int i = 0; i < n && at < TUTTI_ALGORITHM_TEXT; i++)
        at += snprintf(out + at, (size_t)(TUTTI_ALGORITHM_TEXT - at), ",%s=%d", a->parameters[i].name, param[i]);
}
