/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_index.h: NAME.safetensors.index.json, the index of a set of safetensors files. It says in which of
 * several files beside it each tensor lies: {"metadata": {...}, "weight_map": {"conv1.weight":
 * "model-00001-of-00002.safetensors", ...}}. Other keys are ignored. Failures: TUTTI_ERR_DATA, naming the file.
 * Threads: any, after parse. */
#ifndef TUTTI_SAFETENSORS_INDEX_H
#define TUTTI_SAFETENSORS_INDEX_H

#include <stddef.h>

#include "tutti/failure.h"

typedef struct tutti_safetensors_index tutti_safetensors_index;

/* Parses an index. The name of each file must end in .safetensors and have no folder, so that an index cannot point to
 * another folder or to another index. */
tutti_status tutti_safetensors_index_parse(const char *name, const char *text, size_t nbytes,
                                           tutti_safetensors_index **out, tutti_failure *err);
/* Returns the i-th file, in the order of the names, each once; NULL beyond the last. */
const char *tutti_safetensors_index_file(const tutti_safetensors_index *x, int i);
int tutti_safetensors_index_count(const tutti_safetensors_index *x);
/* Returns the i-th tensor, in the order of the names, and its file. */
const char *tutti_safetensors_index_tensor(const tutti_safetensors_index *x, int i, const char **file);
/* Returns the file of a tensor; NULL = the index does not list it. */
const char *tutti_safetensors_index_find(const tutti_safetensors_index *x, const char *tensor);
void tutti_safetensors_index_destroy(tutti_safetensors_index *x); /* NULL is accepted */

#endif
