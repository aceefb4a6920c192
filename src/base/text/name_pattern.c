/* SPDX-License-Identifier: Apache-2.0 */
/* name_pattern.c: matches names against patterns with stars. A star is tried shortest first, and only the last one is
 * ever tried again: what an earlier one took cannot matter once a later one was reached. fnmatch(3) knows brackets and
 * the locale, which names of tensors do not. */
#include "name_pattern.h"

#include <stddef.h>

bool tutti_name_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL; /* behind the last star; where what it took ends */
    for (;;) {
        if (!*pattern && (!*name || *name == '.')) return true; /* all below a name is meant with it */
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
