/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: a network as a list of layers, read from a YAML file or by the name of a shipped one ("mlp", "lenet").
 * Format: docs/models.md. Threads: frozen after load. */
#ifndef TUTTI_MODEL_H
#define TUTTI_MODEL_H

#include "../../kernel/kernel.h"

typedef struct {
    const char *name; /* unique in the model; names tensors: "<name>.weight" */
    const tutti_op_row *op;
    void *attrs;
    int in[TUTTI_MAX_OP_INPUTS]; /* layers whose outputs it reads; -1 = the model's input */
    int nin;
    int line;           /* in the file, for failures */
    int number;         /* in the file, from 0: keys random numbers and orders parameters, merged or not */
    const char *merged; /* names of the layers that were merged into it ("add1 relu3"), or NULL */
} tutti_layer;

typedef struct {
    const char *name;
    tutti_shape input; /* one sample */
    int nclasses;
    tutti_layer *layers; /* in topological order; the last is the loss */
    int nlayers;
    char *text;        /* the file as read, for the handshake and the checkpoint */
    tutti_arena arena; /* owns all of it */
} tutti_model;

/* name_or_path: a shipped name, or a path if it contains '/' or ends in ".yaml" (relative to `folder`). */
tutti_status tutti_model_load(const char *name_or_path, const char *folder, tutti_model **out, tutti_failure *err);
/* The same network in fewer layers, for a step graph (model_fuse.c). Borrows from m, which must outlive it; text, names
 * and parameters are those of m. */
tutti_model *tutti_model_fuse(const tutti_model *m);
/* As a test or fuzz target has it. `name` serves failures. */
tutti_status tutti_model_parse(const char *name, const char *text, size_t nbytes, tutti_model **out,
                               tutti_failure *err);
void tutti_model_destroy(tutti_model *m);
/* Shapes of all layers' outputs for a batch; failures name the layer and both shapes. out: nlayers entries. */
tutti_status tutti_model_infer(const tutti_model *m, int64_t batch, tutti_shape *out, tutti_failure *err);
int64_t tutti_model_nparams(const tutti_model *m);     /* learned ones (no statistics) */
bool tutti_layer_reads_once(const tutti_layer *layer); /* its first input is no other input as well */
/* The name of the ReLU that makes its output: its own, or that of the one that was merged into it; NULL = none does. */
const char *tutti_layer_relu(const tutti_layer *layer);
double tutti_model_flops(const tutti_model *m, int64_t batch); /* forward */
const char *tutti_model_shipped_at(int i);                     /* names, NULL past the end */
const char *tutti_model_shipped_text(const char *name);

#endif
