/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h: a folder DIR/checkpoints/step_000000123/ with weights.safetensors (tensors whole under their names),
 * momentum.safetensors, job.yaml, model.yaml and, written last, MANIFEST.json (step, cursor in global samples, plan hash,
 * file sizes and xxh3 checksums). It exists once the manifest does: everything is written to step_N.tmp, fsynced, renamed.
 * No per-rank state. Failures: TUTTI_ERR_DATA for what is torn or wrong, naming the file. Threads: owner. */
#ifndef TUTTI_CHECKPOINT_H
#define TUTTI_CHECKPOINT_H

#include <stdint.h>

#include "../graph/graph.h"

typedef struct {
    int64_t step;   /* steps done */
    int64_t cursor; /* samples done, global */
    const char *job_text, *model_text;
    uint64_t plan_hash;
    int nranks;                /* for information only */
    const tutti_param *params; /* those without '@' are stored */
    int nparams;
    const int64_t *offset;     /* a param: in the packed vector */
    float *weights, *momentum; /* packed vectors; momentum may be NULL */
} tutti_checkpoint;

/* dir: the run's folder. keep: the newest so many stay. */
tutti_status tutti_checkpoint_write(const char *dir, const tutti_checkpoint *c, int keep, tutti_failure *err);
/* Path of the newest complete one under the run's folder, *path NULL if there is none (caller frees). Torn ones are passed over and
 * told in *notes (may be NULL; caller frees). */
tutti_status tutti_checkpoint_newest(const char *dir, char **path, char **notes, tutti_failure *err);
/* Fills weights and momentum of c by names and shapes of c->params, and step and cursor; job_text and model_text are the caller's. */
tutti_status tutti_checkpoint_read(const char *path, tutti_checkpoint *c, tutti_failure *err);
tutti_status tutti_checkpoint_verify(const char *path, tutti_failure *err);

/* safetensors, the plain part: f32 tensors only. */
typedef struct {
    const char *name;
    tutti_shape shape;
    float *data;
} tutti_tensor_ref;
/* Bytes of a safetensors file; caller frees. metadata: NULL-ended pairs of key and value, or NULL. */
void tutti_safetensors_write(const tutti_tensor_ref *tensors, int n, const char *const *metadata, char **bytes,
                             size_t *nbytes);
typedef struct tutti_safetensors tutti_safetensors;
/* Checks everything the format promises (order, holes, overlap, sizes, duplicate keys); borrows bytes. */
tutti_status tutti_safetensors_parse(const char *name, const char *bytes, size_t nbytes, tutti_safetensors **out,
                                     tutti_failure *err);
int tutti_safetensors_count(const tutti_safetensors *st);
const tutti_tensor_ref *tutti_safetensors_at(const tutti_safetensors *st, int i);
const tutti_tensor_ref *tutti_safetensors_find(const tutti_safetensors *st, const char *name);
void tutti_safetensors_destroy(tutti_safetensors *st);

/* xxh3 over the learned parameters and statistics in params order (names, then bytes): what `train` prints. */
uint64_t tutti_weights_hash(const tutti_checkpoint *c);

#endif
