/* SPDX-License-Identifier: Apache-2.0 */
/* variable.c: reads the variables that launchers set, as numbers. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "discover_impl.h"

bool tutti_variable_set(const char *name)
{
    const char *text = getenv(name);
    return text && *text;
}

tutti_status tutti_variable_number(const char *name, long long lo, long long hi, long long otherwise, long long *out,
                                   tutti_failure *err)
{
    const char *text = getenv(name);
    *out = otherwise;
    if (!text || !*text) return TUTTI_OK;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (isspace((unsigned char)*text) || errno || *end || value < lo || value > hi)
        return tutti_fail(err, TUTTI_ERR_USAGE, "environment: %s='%s' is not a whole number from %lld to %lld", name,
                          text, lo, hi);
    *out = value;
    return TUTTI_OK;
}
