/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h: checkpoints: a folder DIR/checkpoints/step_000000123/ with weights.safetensors (tensors whole under
 * their names), a file for each state of the rule (exp_avg.safetensors) and what is kept beside a centre, job.yaml,
 * model.yaml, data.yaml, costs.yaml where buckets were merged by costs, and, written last, MANIFEST.json (step, cursor
 * in global samples, plan hash, file sizes and xxh3 checksums). It exists once the manifest does: everything is written
 * to step_N.tmp, fsynced, renamed. What differs between ranks is in files of each rank, weights@3.safetensors.
 * Failures: TUTTI_ERR_DATA for what is torn or wrong, naming the file. Threads: owner. */
#ifndef TUTTI_CHECKPOINT_H
#define TUTTI_CHECKPOINT_H

#include <stdint.h>

#include "../../../base/headway.h"
#include "../../../data/identity.h"
#include "../../graph/graph.h"
#include "../../method/method.h"
#include "../../method/rule/rule.h"

/* A vector of this rank's own. */
typedef struct {
    const char *name; /* "weights", or a state's */
    bool is_state;
    float *values;
} tutti_checkpoint_own;

typedef struct {
    char name[40];
    int64_t nbytes;
    uint64_t hash;
} tutti_checkpoint_file;

enum { TUTTI_CHECKPOINT_SKIPS = 1024 };
typedef struct {
    tutti_headway
        headway;    /* of reading and writing it, in bytes of the file at hand; nobody asks where it is left out */
    int64_t step;   /* steps done */
    int64_t cursor; /* samples done, global */
    double loss;    /* of the last step, for people; NaN = unknown */
    tutti_loss_scale_state scale;
    int64_t earlier_updates;            /* that the states had seen before step 0 (init.h) */
    char skips[TUTTI_CHECKPOINT_SKIPS]; /* passes of convolutions that skip zeros (sparsity.h); "" = none */
    const char *job_text, *model_text;
    const char *data_text;  /* what data it was trained on (data/identity.h); NULL = not said */
    const char *costs_text; /* that the buckets were merged by; NULL = by size */
    uint64_t plan_hash;
    int nranks;                /* for information only, as is */
    int device;                /* the tutti_device_kind that computed */
    const tutti_param *params; /* those without '@' are stored */
    int nparams;
    const int64_t *offset; /* a param: in the packed vector */
    float *weights;        /* packed, as the states are */
    int nstates;           /* that are stored beside the weights; 0 also where a reader wants the weights alone */
    const char *state_name[TUTTI_RULE_MAX_STATES];
    float *state[TUTTI_RULE_MAX_STATES];
    int rank, nown; /* vectors that differ between ranks, the rank's own */
    tutti_checkpoint_own own[TUTTI_RULE_MAX_STATES + 1];
} tutti_checkpoint;

/* printf into memory of its own (caller frees); aborts without memory. */
char *tutti_checkpoint_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define TUTTI_COSTS_FILE "costs.yaml"
#define TUTTI_DATA_FILE  "data.yaml"

/* One writes for all: dir: the run's folder; keep: the newest so many stay. Where ranks have vectors of their own, that
 * one prepares, then every rank writes its own (files: c->nown of them), and the one writes with the files of all
 * ranks, in any order. */
tutti_status tutti_checkpoint_prepare(const char *dir, const tutti_checkpoint *c, tutti_failure *err);
tutti_status tutti_checkpoint_write_own(const char *dir, const tutti_checkpoint *c, tutti_checkpoint_file *files,
                                        tutti_failure *err);
tutti_status tutti_checkpoint_write(const char *dir, const tutti_checkpoint *c, const tutti_checkpoint_file *files,
                                    int nfiles, int keep, tutti_failure *err);
/* How often a reader looks again where a run removes what it reads. */
enum { TUTTI_CHECKPOINT_LOOKS = 100 };
bool tutti_checkpoint_is_gone(const char *path);
/* To be called where a list was empty: the last checkpoint may have gone as the next one came. Waits for 1 ms and
 * returns true, at most ten times for one *nempty, which begins at 0. */
bool tutti_checkpoint_look_again(int *nempty);
/* Path of the newest complete one under the run's folder, *path NULL if there is none (caller frees). Torn ones are
 * passed over and told in *notes, a line each, NULL if there are none (caller frees; notes itself may be NULL). */
tutti_status tutti_checkpoint_newest(const char *dir, char **path, char **notes, tutti_failure *err);
/* These take longer than others may wait: they say how far they are, in bytes of the file at hand. headway may be
 * NULL. */
tutti_status tutti_checkpoint_newest_told(const char *dir, const tutti_headway *headway, char **path, char **notes,
                                          tutti_failure *err);
tutti_status tutti_checkpoint_verify_told(const char *path, const tutti_headway *headway, tutti_failure *err);
/* Fills weights and states of c by names and shapes of c->params, and step, cursor, loss, scale, earlier_updates,
 * skips, plan_hash and nranks; everything is verified on the way. job_text and model_text are left alone: see
 * tutti_checkpoint_read_text. */
tutti_status tutti_checkpoint_read(const char *path, tutti_checkpoint *c, tutti_failure *err);
/* Fills c->own, if it was saved by as many ranks; else *found is false and nothing is touched. */
tutti_status tutti_checkpoint_read_own(const char *path, tutti_checkpoint *c, bool *found, tutti_failure *err);
/* One file of it, checked against the manifest; a '\0' follows. The caller frees. headway may be NULL. */
tutti_status tutti_checkpoint_read_file(const char *path, const char *file, const tutti_headway *headway, char **bytes,
                                        size_t *nbytes, tutti_failure *err);
/* One file of it as text, checked against the manifest: "job.yaml", "model.yaml" or "costs.yaml". The caller frees. */
tutti_status tutti_checkpoint_read_text(const char *path, const char *file, char **text, tutti_failure *err);
/* What data it was trained on; *found is false, and nothing is written, of a checkpoint that does not say: of an
 * earlier version. */
tutti_status tutti_checkpoint_read_data(const char *path, tutti_data_identity *out, bool *found, tutti_failure *err);
/* The one judge of whether it is whole: the manifest, what it is called, sizes and checksums of every file, tensors
 * that can be read, a job that is YAML, a model that is one. tutti_checkpoint_read besides compares shapes, and the
 * weights with their hash. */
tutti_status tutti_checkpoint_verify(const char *path, tutti_failure *err);
/* TUTTI_ERR_DATA: its weights or its states hold NaN or infinite numbers; names file and tensor. */
tutti_status tutti_checkpoint_check_finite(const char *path, tutti_failure *err);
/* The same of the checkpoint that a run in `dir` would go on from; the words say which earlier one is good. */
tutti_status tutti_checkpoint_refuse_bad(const char *dir, const char *path, tutti_failure *err);
/* Of vectors in memory: which parameter has one, "'fc1.weight'", "exp_avg of 'fc1.weight'". own_alone: looks at c->own
 * only. */
bool tutti_checkpoint_find_bad(const tutti_checkpoint *c, bool own_alone, char what[120]);
bool tutti_all_finite(const float *x, int64_t n);
/* Whether the path means a checkpoint, whole or not: by its name, or by a manifest in it. */
bool tutti_checkpoint_is(const char *path);
/* Removes all checkpoints of a run's folder, torn ones too. */
tutti_status tutti_checkpoint_remove_all(const char *dir, tutti_failure *err);

/* What `ckpt ls` shows. The list is newest first, complete or not; the caller frees it. */
typedef struct {
    char *path;
    int64_t step;
} tutti_checkpoint_entry;
tutti_status tutti_checkpoint_list(const char *dir, tutti_checkpoint_entry **out, int *n, tutti_failure *err);
void tutti_checkpoint_list_release(tutti_checkpoint_entry *entries, int n);

/* The manifest as read. */
enum { TUTTI_CHECKPOINT_MAX_FILES = 1024 };
typedef struct {
    int64_t step, cursor;
    double loss;
    tutti_loss_scale_state scale;
    int64_t earlier_updates;
    char skips[TUTTI_CHECKPOINT_SKIPS];
    uint64_t plan_hash, weights_hash;
    int nranks, nfiles;
    int device; /* tutti_device_kind; not written for the cpu */
    tutti_checkpoint_file files[TUTTI_CHECKPOINT_MAX_FILES];
} tutti_manifest;
tutti_status tutti_manifest_read(const char *path, tutti_manifest *out, tutti_failure *err);
char *tutti_manifest_print(const tutti_manifest *m); /* the caller frees */

/* safetensors. What we write is f32 alone. */
typedef struct {
    const char *name;
    tutti_shape shape;
    float *data;
    const tutti_param_desc *order; /* writing: of data, which the file holds row-major; NULL = row-major already */
} tutti_tensor_ref;
/* Bytes of a safetensors file; caller frees. metadata: NULL-ended pairs of key and value, or NULL. */
void tutti_safetensors_write(const tutti_tensor_ref *tensors, int n, const char *const *metadata, char **bytes,
                             size_t *nbytes);
typedef struct tutti_safetensors tutti_safetensors;
/* Checks everything the format promises (order, holes, overlap, sizes, duplicate keys); borrows bytes. */
tutti_status tutti_safetensors_parse(const char *name, const char *bytes, size_t nbytes, tutti_safetensors **out,
                                     tutti_failure *err);
/* The same of a file of other people: tensors of any type and any number of dimensions, which lie anywhere, so that
 * data of a ref is NULL: tutti_safetensors_widen reads them. A shape of more than four dimensions is left without
 * any. */
tutti_status tutti_safetensors_parse_foreign(const char *name, const char *bytes, size_t nbytes,
                                             tutti_safetensors **out, tutti_failure *err);
const char *tutti_safetensors_type(const tutti_safetensors *st, int i); /* "F32", "I64", "BF16 of 5 dimensions" */
/* F32, F64, F16 and BF16 of up to four dimensions; of all others false, and nothing is written. Where out is NULL:
 * whether it could be. */
bool tutti_safetensors_widen(const tutti_safetensors *st, int i, float *out);
/* As they lie in the file. */
const void *tutti_safetensors_bytes(const tutti_safetensors *st, int i, size_t *nbytes);
int tutti_safetensors_count(const tutti_safetensors *st);
const tutti_tensor_ref *tutti_safetensors_at(const tutti_safetensors *st, int i);
const tutti_tensor_ref *tutti_safetensors_find(const tutti_safetensors *st, const char *name);
void tutti_safetensors_destroy(tutti_safetensors *st);

/* xxh3 over the learned parameters and statistics in params order (names, then bytes): what `train` prints. */
uint64_t tutti_weights_hash(const tutti_checkpoint *c);

#endif
