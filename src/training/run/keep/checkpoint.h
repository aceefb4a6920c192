/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h: checkpoints: a folder DIR/checkpoints/step_000000123/. It holds weights.safetensors (whole tensors
 * under their names), a file for each state of the rule (exp_avg.safetensors) and for what is kept beside a centre,
 * job.yaml, model.yaml, data.yaml, and costs.yaml where buckets were merged by costs. MANIFEST.json is written last
 * (step, cursor in global samples, plan hash, file sizes and xxh3 checksums). A checkpoint exists once its manifest
 * does: everything is written to step_N.tmp, fsynced, and renamed. Vectors that differ between ranks lie in a file for
 * each rank, weights@3.safetensors. Failures: TUTTI_ERR_DATA, with the file's name, for torn or wrong files. Threads:
 * owner. */
#ifndef TUTTI_CHECKPOINT_H
#define TUTTI_CHECKPOINT_H

#include <stdint.h>

#include "../../../base/headway.h"
#include "../../../data/identity.h"
#include "../../graph/graph.h"
#include "../../method/method.h"
#include "../../method/rule/rule.h"

/* A vector of which each rank has its own. */
typedef struct {
    const char *name; /* "weights", or the name of a state */
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
    tutti_headway headway; /* receives progress reports of reading and writing, in bytes of the current file; all zeros
                            * = no reports */
    int64_t step;          /* steps done */
    int64_t cursor;        /* training samples used, over all ranks */
    double loss;           /* loss of the last step, for people; NaN = unknown */
    tutti_loss_scale_state scale;
    int64_t earlier_updates;            /* updates that the states had seen before step 0 (init.h) */
    char skips[TUTTI_CHECKPOINT_SKIPS]; /* in which passes convolutions skip zeros (sparsity.h); "" = none */
    const char *job_text, *model_text;
    const char *data_text;  /* identity of the data that the run was trained on (data/identity.h); NULL = not known */
    const char *costs_text; /* the costs that the buckets were merged by; NULL = merged by size */
    uint64_t plan_hash;
    int nranks;                /* number of ranks, for information only */
    int device;                /* tutti_device_kind of the device that computed */
    const tutti_param *params; /* parameters without '@' are stored */
    int nparams;
    const int64_t *offset; /* per param: its offset in the packed vector */
    float *weights;        /* the weights, packed; the states are packed too */
    int nstates;           /* number of states stored beside the weights; 0 also if a reader needs the weights alone */
    const char *state_name[TUTTI_RULE_MAX_STATES];
    float *state[TUTTI_RULE_MAX_STATES];
    int rank, nown; /* nown: number of vectors that differ between ranks; `own` has this rank's */
    tutti_checkpoint_own own[TUTTI_RULE_MAX_STATES + 1];
} tutti_checkpoint;

/* Returns a text, formatted as by printf, into new memory (the caller frees it); aborts without memory. */
char *tutti_checkpoint_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define TUTTI_COSTS_FILE "costs.yaml"
#define TUTTI_DATA_FILE  "data.yaml"

/* Write a checkpoint; one rank, the writer, writes for all. dir: the run's folder. keep: how many of the newest
 * checkpoints stay. If ranks have vectors of their own, the writer first calls _prepare; then every rank calls
 * _write_own, which fills c->nown entries of `files`; then the writer calls _write with the entries of all ranks, in
 * any order. */
tutti_status tutti_checkpoint_prepare(const char *dir, const tutti_checkpoint *c, tutti_failure *err);
tutti_status tutti_checkpoint_write_own(const char *dir, const tutti_checkpoint *c, tutti_checkpoint_file *files,
                                        tutti_failure *err);
tutti_status tutti_checkpoint_write(const char *dir, const tutti_checkpoint *c, const tutti_checkpoint_file *files,
                                    int nfiles, int keep, tutti_failure *err);
/* Most attempts of a reader: the run may remove a checkpoint while it is being read. */
enum { TUTTI_CHECKPOINT_LOOKS = 100 };
bool tutti_checkpoint_is_gone(const char *path);
/* Call this function after a list of checkpoints was empty: the last checkpoint may have been removed just before the
 * next one appeared. Waits for 1 ms and returns true, at most ten times for one counter *nempty, which begins at 0. */
bool tutti_checkpoint_look_again(int *nempty);
/* Finds the newest complete checkpoint under the run's folder: *path, or NULL if there is none (the caller frees it).
 * Torn checkpoints are skipped and named in *notes, a line each, NULL if there are none (the caller frees it; notes
 * itself may be NULL). */
tutti_status tutti_checkpoint_newest(const char *dir, char **path, char **notes, tutti_failure *err);
/* These do the same as the functions without `_told`, and report their progress to headway, in bytes of the current
 * file: they may take longer than the other ranks wait without a report. headway may be NULL. */
tutti_status tutti_checkpoint_newest_told(const char *dir, const tutti_headway *headway, char **path, char **notes,
                                          tutti_failure *err);
tutti_status tutti_checkpoint_verify_told(const char *path, const tutti_headway *headway, tutti_failure *err);
/* Fills weights and states of c by names and shapes of c->params, and step, cursor, loss, scale, earlier_updates,
 * skips, plan_hash and nranks; verifies everything it reads. job_text and model_text stay as they are: see
 * tutti_checkpoint_read_text. */
tutti_status tutti_checkpoint_read(const char *path, tutti_checkpoint *c, tutti_failure *err);
/* Fills c->own if the same number of ranks saved it; else *found is false and nothing is written. */
tutti_status tutti_checkpoint_read_own(const char *path, tutti_checkpoint *c, bool *found, tutti_failure *err);
/* Reads one file of the checkpoint, checked against the manifest; a '\0' follows the bytes. The caller frees them.
 * headway may be NULL. */
tutti_status tutti_checkpoint_read_file(const char *path, const char *file, const tutti_headway *headway, char **bytes,
                                        size_t *nbytes, tutti_failure *err);
/* Reads one file of the checkpoint as text, checked against the manifest: "job.yaml", "model.yaml" or "costs.yaml". The
 * caller frees it. */
tutti_status tutti_checkpoint_read_text(const char *path, const char *file, char **text, tutti_failure *err);
/* Reads the identity of the data that the run was trained on. If the checkpoint is of an earlier version, which does
 * not store it, *found is false and nothing is written. */
tutti_status tutti_checkpoint_read_data(const char *path, tutti_data_identity *out, bool *found, tutti_failure *err);
/* Decides whether a checkpoint is complete; no other code does. Checks the manifest, the folder's name, sizes and
 * checksums of every file, that tensors can be read, and that job.yaml and model.yaml can be parsed.
 * tutti_checkpoint_read also compares shapes, and the weights with their hash. */
tutti_status tutti_checkpoint_verify(const char *path, tutti_failure *err);
/* TUTTI_ERR_DATA if the checkpoint's weights or states hold NaN or infinite numbers; the message names file and
 * tensor. */
tutti_status tutti_checkpoint_check_finite(const char *path, tutti_failure *err);
/* Checks, as tutti_checkpoint_check_finite does, the checkpoint at which a run in `dir` would continue; the message
 * says which earlier checkpoint is good. */
tutti_status tutti_checkpoint_refuse_bad(const char *dir, const char *path, tutti_failure *err);
/* Finds NaN or infinite numbers in vectors in memory and writes which parameter has one: "'fc1.weight'", "exp_avg of
 * 'fc1.weight'". own_alone: looks only at c->own. Returns false if there are none. */
bool tutti_checkpoint_find_bad(const tutti_checkpoint *c, bool own_alone, char what[120]);
bool tutti_all_finite(const float *x, int64_t n);
/* True if the path is a checkpoint, complete or not: by its name, or because it has a manifest. */
bool tutti_checkpoint_is(const char *path);
/* Removes all checkpoints of a run's folder, torn ones included. */
tutti_status tutti_checkpoint_remove_all(const char *dir, tutti_failure *err);

/* A row of `ckpt ls`. The list is newest first, complete or not; the caller frees it. */
typedef struct {
    char *path;
    int64_t step;
} tutti_checkpoint_entry;
tutti_status tutti_checkpoint_list(const char *dir, tutti_checkpoint_entry **out, int *n, tutti_failure *err);
void tutti_checkpoint_list_release(tutti_checkpoint_entry *entries, int n);

/* The content of MANIFEST.json. */
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
char *tutti_manifest_print(const tutti_manifest *m); /* returns the manifest as text; the caller frees it */

/* A tensor of a safetensors file. This program writes f32 only. */
typedef struct {
    const char *name;
    tutti_shape shape;
    float *data;
    /* for writing: the memory order of `data`, which the file holds row-major; NULL = `data` is row-major */
    const tutti_param_desc *order;
} tutti_tensor_ref;
/* Makes the bytes of a safetensors file; the caller frees them. metadata: key and value alternate, NULL at the end; or
 * NULL. */
void tutti_safetensors_write(const tutti_tensor_ref *tensors, int n, const char *const *metadata, char **bytes,
                             size_t *nbytes);
typedef struct tutti_safetensors tutti_safetensors;
/* Checks everything the format promises (order, holes, overlap, sizes, duplicate keys); borrows bytes. */
tutti_status tutti_safetensors_parse(const char *name, const char *bytes, size_t nbytes, tutti_safetensors **out,
                                     tutti_failure *err);
/* Parses a file that another program wrote. Tensors may have any type and number of dimensions and lie anywhere, so
 * `data` of a tensor is NULL: tutti_safetensors_widen reads them. A tensor of more than four dimensions has no
 * shape. */
tutti_status tutti_safetensors_parse_foreign(const char *name, const char *bytes, size_t nbytes,
                                             tutti_safetensors **out, tutti_failure *err);
/* returns the type in words: "F32", "I64", "BF16 of 5 dimensions" */
const char *tutti_safetensors_type(const tutti_safetensors *st, int i);
/* Converts tensor i to f32: F32, F64, F16 and BF16 of up to four dimensions. Returns false for others and writes
 * nothing. out NULL: only says whether it could. */
bool tutti_safetensors_widen(const tutti_safetensors *st, int i, float *out);
/* Returns the tensor's bytes as they lie in the file. */
const void *tutti_safetensors_bytes(const tutti_safetensors *st, int i, size_t *nbytes);
int tutti_safetensors_count(const tutti_safetensors *st);
const tutti_tensor_ref *tutti_safetensors_at(const tutti_safetensors *st, int i);
const tutti_tensor_ref *tutti_safetensors_find(const tutti_safetensors *st, const char *name);
void tutti_safetensors_destroy(tutti_safetensors *st);

/* Returns xxh3 over the learned parameters and statistics in params order (names, then bytes): what `train` prints. */
uint64_t tutti_weights_hash(const tutti_checkpoint *c);

#endif
