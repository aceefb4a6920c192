/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_impl.h: shared by the files of the checkpoint. */
#ifndef TUTTI_CHECKPOINT_IMPL_H
#define TUTTI_CHECKPOINT_IMPL_H

#include "checkpoint.h"

#define TUTTI_WEIGHTS_FILE  "weights.safetensors"
#define TUTTI_MANIFEST_FILE "MANIFEST.json"

/* Parses the step in a folder's name: "step_000000123" -> 123; -1 for any other name. */
int64_t tutti_checkpoint_step_of(const char *name);
/* True if a checkpoint holds this parameter: control numbers ("@loss") are not stored, and statistics have no
 * states. */
bool tutti_checkpoint_stores(const tutti_param *p, bool of_state);
/* A file of vectors: the weights, one of the rule's states, or one of the rank's own vectors. */
typedef struct {
    char name[40];
    bool is_state;
    float *values;
} tutti_checkpoint_vector;
enum { TUTTI_CHECKPOINT_WEIGHTS = -1 };
tutti_checkpoint_vector tutti_checkpoint_vector_of(const tutti_checkpoint *c, int state);
tutti_checkpoint_vector tutti_checkpoint_own_of(const tutti_checkpoint *c, int own);

#endif
