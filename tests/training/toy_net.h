/* SPDX-License-Identifier: Apache-2.0 */
/* toy_net.h: small models made by hand, so that tests of graph and plan need no model file. */
#ifndef TUTTI_TOY_NET_H
#define TUTTI_TOY_NET_H

#include "kernel/kernel_impl.h"
#include "training/plan/plan.h"

enum { TOY_MAX_LAYERS = 12 };

typedef struct {
    tutti_model model;
    tutti_layer layers[TOY_MAX_LAYERS];
    tutti_dense_attrs dense[TOY_MAX_LAYERS];
    tutti_batch_norm_attrs norm;
    tutti_dropout_attrs dropout;
    tutti_loss_attrs loss;
    char none[64];
} toy_net;

/* Appends a layer that reads the one before; units are of dense only. Returns its index. */
static inline int toy_add(toy_net *t, const char *name, const tutti_op_row *op, int64_t units)
{
    const int l = t->model.nlayers++;
    t->dense[l] = (tutti_dense_attrs){.units = units, .bias = true};
    t->norm = (tutti_batch_norm_attrs){.eps = 1e-5, .momentum = 0.1, .scale_init = 1};
    t->dropout = (tutti_dropout_attrs){.rate = 0.25};
    t->loss = (tutti_loss_attrs){.weight = 1};
    void *attrs = t->none; /* ops without attributes */
    if (op == &tutti_op_dense) attrs = &t->dense[l];
    if (op == &tutti_op_batch_norm) attrs = &t->norm;
    if (op == &tutti_op_dropout) attrs = &t->dropout;
    if (op == &tutti_op_softmax_cross_entropy) attrs = &t->loss;
    t->layers[l] =
        (tutti_layer){.name = name, .op = op, .attrs = attrs, .in = {l - 1}, .nin = 1, .line = l + 1, .number = l};
    return l;
}

/* Layer l reads these two. */
static inline void toy_reads(toy_net *t, int l, int first, int second)
{
    t->layers[l].in[0] = first;
    t->layers[l].in[1] = second;
    t->layers[l].nin = 2;
}

static inline void toy_begin(toy_net *t, int64_t features)
{
    *t = (toy_net){.model = {.name = "toy", .input = {1, {features}}, .nclasses = 4}};
    t->model.layers = t->layers;
}

/* flatten, dense 12 -> 8, batch norm, relu, dense 8 -> 4, loss */
static inline void toy_make(toy_net *t)
{
    toy_begin(t, 12);
    toy_add(t, "flat", &tutti_op_flatten, 0);
    toy_add(t, "fc1", &tutti_op_dense, 8);
    toy_add(t, "norm", &tutti_op_batch_norm, 0);
    toy_add(t, "relu", &tutti_op_relu, 0);
    toy_add(t, "fc2", &tutti_op_dense, 4);
    toy_add(t, "loss", &tutti_op_softmax_cross_entropy, 0);
}

static inline int toy_param(const tutti_graph *g, const char *name)
{
    for (int i = 0; i < g->nparams; i++)
        if (!strcmp(g->params[i].name, name)) return i;
    return -1;
}

#endif
