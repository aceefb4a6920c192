/* SPDX-License-Identifier: Apache-2.0 */
/* tune_layers.h: measures, pass by pass, all candidates that can compute the layers of a step graph, and stores the
 * times in a tune file. Threads: one at a time. */
#ifndef TUTTI_TUNE_LAYERS_H
#define TUTTI_TUNE_LAYERS_H

#include "../../kernel/tune/tune_file.h"
#include "graph.h"

typedef struct {
    void (*progress)(void *arg, int done, int total, const char *what); /* NULL = no listener. what: the layer's name */
    void *arg;
} tutti_tune_watch;

/* Measures each candidate of each pass that has several, and adds the times to f. Shapes, orders, precision and threads
 * are those of the graph, as the chooser would ask for them. Times that f already has stay; layers that ranks share and
 * plain reference loops are left out. Returns how many passes were measured. Takes from one second to some minutes, and
 * as much memory as the largest layer with its gradients. */
int tutti_tune_layers(const tutti_graph *g, const tutti_tune_watch *watch, tutti_tune_file *f);

#endif
