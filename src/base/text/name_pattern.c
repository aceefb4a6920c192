/* SPDX-License-Identifier: Apache-2.0 */
/* name_pattern.c: matches names against patterns with stars. Each star first matches as few characters as possible.
 * After a mismatch only the last star is tried again with one character more, because a longer match of an earlier star
 * could not succeed either. fnmatch(3) is not used, because brackets and the locale would change which names match. */
#include "name_pattern.h"

#include <stddef.h>

bool tutti_name_matches(const char *pattern, const char *name)
{
    /* star: the rest of the pattern behind the last star; from: end of the part of the name that this star matches */
    const char *star = NULL, *from = NULL;
    for (;;) {
        /* the name of a layer also matches all names that continue with a dot, which lie below the layer */
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
