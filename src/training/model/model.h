/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: a network as a list of layers, read from a YAML file or from a network that comes with the program ("mlp",
 * "lenet"). Format: docs/models.md. Threads: any, after load. */
#ifndef TUTTI_MODEL_H
#define TUTTI_MODEL_H

#include "../../kernel/kernel.h"

typedef struct {
    const char *name; /* unique in the model; names tensors: "<name>.weight" */
    const tutti_op_row *op;
    void *attrs;
    int in[TUTTI_MAX_OP_INPUTS]; /* indices of the layers whose outputs it reads; -1 = the model's input */
    int nin;
    int line; /* line in the file, for error messages */
    /* position in the file, from 0; it is the same after layers are merged. Random numbers are keyed by it and
     * parameters ordered by it */
    int number;
    const char *merged; /* names of the layers that were merged into this layer ("add1 relu3"); NULL = none were */
} tutti_layer;

typedef struct {
    const char *name;
    tutti_shape input; /* shape of one sample */
    int nclasses;
    tutti_layer *layers; /* in topological order; the last is the loss */
    int nlayers;
    char *text;        /* the file as it was read, for the handshake and the checkpoint */
    tutti_arena arena; /* owns all memory of the model */
} tutti_model;

/* Loads a model. name_or_path: the name of a network that comes with the program, or a path if it contains '/' or ends
 * in ".yaml" (relative to `folder`). */
tutti_status tutti_model_load(const char *name_or_path, const char *folder, tutti_model **out, tutti_failure *err);
/* Returns the same network with layers merged, for a step graph (model_fuse.c). The result borrows from m, which must
 * outlive it; text, names and parameters are those of m. */
tutti_model *tutti_model_fuse(const tutti_model *m);
/* Reads a model from memory, for tests and fuzz targets. `name` is used in error messages. */
tutti_status tutti_model_parse(const char *name, const char *text, size_t nbytes, tutti_model **out,
                               tutti_failure *err);
void tutti_model_destroy(tutti_model *m);
/* Writes the shapes of all layers' outputs for a batch to `out`, m->nlayers entries. Failures name the layer and both
 * shapes. */
tutti_status tutti_model_infer(const tutti_model *m, int64_t batch, tutti_shape *out, tutti_failure *err);
int64_t tutti_model_nparams(const tutti_model *m);     /* returns the number of learned parameters, without
                                                        * statistics */
bool tutti_layer_reads_once(const tutti_layer *layer); /* true if the layer reads its first input only once */
/* Returns the name of the ReLU that makes the layer's output: the layer itself, or a ReLU that was merged into it; NULL
 * = no ReLU does. */
const char *tutti_layer_relu(const tutti_layer *layer);
/* returns the floating-point operations of the forward pass */
double tutti_model_flops(const tutti_model *m, int64_t batch);
/* name of the i-th network that comes with the program; NULL past the end */
const char *tutti_model_shipped_at(int i);
const char *tutti_model_shipped_text(const char *name);

#endif
