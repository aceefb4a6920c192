/* SPDX-License-Identifier: Apache-2.0 */
/* idx_find.h: finds the files of an IDX set below a path, wherever tools leave them. Private to src/data. */
#ifndef TUTTI_DATA_IDX_FIND_H
#define TUTTI_DATA_IDX_FIND_H

#include "../picture/pictures.h"

/* Returns the path of the file with `what` ("images", "labels") of a split ("train", "t10k"); the caller frees it. NULL
 * with TUTTI_ERR_DATA: there is no set, or several sets. path: a folder, or a folder and the prefix of the files'
 * names, such as DIR/emnist-letters. */
char *tutti_idx_find(const char *path, const char *split, const char *what, tutti_failure *err);

#endif
