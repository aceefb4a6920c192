/* SPDX-License-Identifier: Apache-2.0 */
/* tune_layers.h: measures the candidates of a step graph's layers, pass by pass, into a tune file. Threads: owner. */
#ifndef TUTTI_TUNE_LAYERS_H
#define TUTTI_TUNE_LAYERS_H

#include "../../kernel/tune/tune_file.h"
#include "graph.h"

typedef struct {
    void (*progress)(void *arg, int done, int total,
                     const char *what); /* NULL = nobody wants to know; what: the layer's name */
    void *arg;
} tutti_tune_watch;

/* Adds a time for each candidate of each pass that has several, as the chooser would ask for it: shapes, orders,
 * precision and threads are the graph's. What f has already is left as it is; layers that ranks share are left out, and
 * so are plain reference loops. Returns how many passes were measured. Takes from a second to some minutes, and as much
 * memory as the largest layer with its gradients. */
int tutti_tune_layers(const tutti_graph *g, const tutti_tune_watch *watch, tutti_tune_file *f);

#endif
