/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_index.h: NAME.safetensors.index.json, which says in which of several files beside it each tensor lies:
 * {"metadata": {...}, "weight_map": {"conv1.weight": "model-00001-of-00002.safetensors", ...}}. Other keys are passed
 * over. Failures: TUTTI_ERR_DATA, naming the file. Threads: frozen after parse. */
#ifndef TUTTI_SAFETENSORS_INDEX_H
#define TUTTI_SAFETENSORS_INDEX_H

#include <stddef.h>

#include "tutti/failure.h"

typedef struct tutti_safetensors_index tutti_safetensors_index;

/* A file is a name without a folder that ends in .safetensors: an index leads nowhere else, and to no other index. */
tutti_status tutti_safetensors_index_parse(const char *name, const char *text, size_t nbytes,
                                           tutti_safetensors_index **out, tutti_failure *err);
/* Files in the order of their names, each once; NULL beyond the last. */
const char *tutti_safetensors_index_file(const tutti_safetensors_index *x, int i);
int tutti_safetensors_index_count(const tutti_safetensors_index *x);
/* Tensors in the order of their names, and the file of each. */
const char *tutti_safetensors_index_tensor(const tutti_safetensors_index *x, int i, const char **file);
/* The file of a tensor, NULL: the index does not know it. */
const char *tutti_safetensors_index_find(const tutti_safetensors_index *x, const char *tensor);
void tutti_safetensors_index_destroy(tutti_safetensors_index *x); /* NULL is accepted */

#endif
