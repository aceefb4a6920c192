/* SPDX-License-Identifier: Apache-2.0 */
/* name_pattern.h: patterns with stars for names with dots, such as those of tensors. "fc" matches fc itself and
 * everything below it (fc.weight), "fc*" also fc1.weight: a star stands for any characters, dots included, a question
 * mark for one. Threads: any (pure functions). */
#ifndef TUTTI_NAME_PATTERN_H
#define TUTTI_NAME_PATTERN_H

#include <stdbool.h>

/* True if the pattern matches. Cost: at most the product of both lengths. */
bool tutti_name_matches(const char *pattern, const char *name);

#endif
