/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h: declarations that the sets of numbers, csv and npy, share. Private to src/data. */
#ifndef TUTTI_DATA_NUMBERS_H
#define TUTTI_DATA_NUMBERS_H

#include "../dataset_impl.h"

enum { TUTTI_MAX_LABEL = 999999 };

/* Replaces the file's shape by data.shape, if the job gives it; TUTTI_ERR_USAGE if the number of elements differs.
 * path: for messages. */
tutti_status tutti_numbers_reshape(const tutti_dataset_config *config, const char *path, tutti_shape *shape,
                                   tutti_failure *err);
/* Adds notes: how many samples there are; and that large numbers are used unchanged, if the job does not say how to
 * scale them. */
void tutti_numbers_note(const tutti_dataset_config *config, tutti_dataset *d);
/* True if the folder has a file with this ending. */
bool tutti_numbers_has_ending(const char *folder, const char *ending);

#endif
