/* SPDX-License-Identifier: Apache-2.0 */
/* idx_find.h: the files of an IDX set, wherever tools leave them below a path. Private to src/data. */
#ifndef TUTTI_DATA_IDX_FIND_H
#define TUTTI_DATA_IDX_FIND_H

#include "../picture/pictures.h"

/* The file of `what` ("images", "labels") of a split ("train", "t10k"), to be freed; NULL with TUTTI_ERR_DATA set:
 * none, or several sets. path: a folder, or a folder and the prefix of the files' names, DIR/emnist-letters. */
char *tutti_idx_find(const char *path, const char *split, const char *what, tutti_failure *err);

#endif
