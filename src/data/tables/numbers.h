/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h: what the sets of numbers, csv and npy, share. Private to src/data. */
#ifndef TUTTI_DATA_NUMBERS_H
#define TUTTI_DATA_NUMBERS_H

#include "../dataset_impl.h"

enum { TUTTI_MAX_LABEL = 999999 };

/* data.shape, where the job gives one, takes the place of the file's; TUTTI_ERR_USAGE: another number of numbers. path:
 * for the words. */
tutti_status tutti_numbers_reshape(const tutti_dataset_config *config, const char *path, tutti_shape *shape,
                                   tutti_failure *err);
/* How many there are of what; and that large numbers are as they are, where nobody has said how to make them small. */
void tutti_numbers_note(const tutti_dataset_config *config, tutti_dataset *d);
/* A file in the folder ends so. */
bool tutti_numbers_has_ending(const char *folder, const char *ending);

#endif
