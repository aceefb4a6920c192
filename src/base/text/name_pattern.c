/* SPDX-License-Identifier: Apache-2.0 */
/* name_pattern.c: matches names against patterns with stars. A star is tried with the shortest match first. Only the
 * last star is retried: a longer match of an earlier star cannot succeed where the last star fails. fnmatch(3) is not
 * used, because brackets and the locale would change which names match. */
#include "name_pattern.h"

#include <stddef.h>

bool tutti_name_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL; /* star: the pattern behind the last star; from: end of the part of the name
                                            * that this star matched */
    for (;;) {
        /* the pattern of a layer also matches all names below the layer */
        if (!*pattern && (!*name || *name == '.')) return true;
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*name && (*pattern == '?' || *pattern == *name)) {
            pattern++;
            name++;
        } else if (star && *from) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
}
