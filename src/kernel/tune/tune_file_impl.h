/* SPDX-License-Identifier: Apache-2.0 */
/* tune_file_impl.h: declarations that printing and parsing a tune file share (tune_file.h). */
#ifndef TUTTI_TUNE_FILE_IMPL_H
#define TUTTI_TUNE_FILE_IMPL_H

#include "tune_file.h"

#define TUTTI_TUNE_MAGIC    "tutti tuned kernels "
#define TUTTI_TUNE_CHECKSUM "checksum: "
enum { TUTTI_TUNE_VERSION = 1, TUTTI_TUNE_WORDS = 5 };

/* Compares entries by op, then shape, precision, pass, candidate, as strcmp does. */
int tutti_tune_entry_compare(const tutti_tuned_entry *a, const tutti_tuned_entry *b);

#endif
