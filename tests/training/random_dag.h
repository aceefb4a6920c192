/* SPDX-License-Identifier: Apache-2.0 */
/* random_dag.h: models with branches, joins, values of many readers and several losses, drawn from a seed. */
#ifndef TUTTI_RANDOM_DAG_H
#define TUTTI_RANDOM_DAG_H

#include <stdio.h>

#include "base/rng.h"
#include "base/text/strbuf.h"

enum { DAG_MAX_VALUES = 16, DAG_CLASSES = 3 };

typedef struct {
    tutti_strbuf text;
    uint64_t seed, draws;
    int nvalues;
    int readers[DAG_MAX_VALUES]; /* of value v<i> */
} dag;

static inline int dag_below(dag *d, int n)
{
    return (int)(tutti_random(d->seed, TUTTI_STREAM_TEST, 77, d->draws++).word[0] % (uint32_t)n);
}

/* A value to read; it has one reader more now. */
static inline int dag_pick(dag *d)
{
    const int v = dag_below(d, d->nvalues);
    d->readers[v]++;
    return v;
}

static inline void dag_join(dag *d, const char *op, int n, const char *name)
{
    tutti_strbuf_printf(&d->text, "  - %s: {name: %s, from: [", op, name);
    for (int i = 0; i < n; i++) tutti_strbuf_printf(&d->text, "%sv%d", i ? ", " : "", dag_pick(d));
    tutti_strbuf_puts(&d->text, "]}\n");
}

/* One more value of 3 channels, 4 x 4. */
static inline void dag_grow(dag *d)
{
    static const char *const same[] = {"relu", "tanh", "batch-norm", "dropout"};
    char name[16], joined[24];
    snprintf(name, sizeof name, "v%d", d->nvalues);
    snprintf(joined, sizeof joined, "cat%d", d->nvalues);
    switch (dag_below(d, 4)) {
    case 0:
        tutti_strbuf_printf(&d->text, "  - conv: {name: %s, out_channels: 3, kernel: 3, pad: 1, from: v%d}\n", name,
                            dag_pick(d));
        break;
    case 1:
        tutti_strbuf_printf(&d->text, "  - %s: {name: %s, from: v%d}\n", same[dag_below(d, 4)], name, dag_pick(d));
        break;
    case 2: dag_join(d, "add", 2 + dag_below(d, 2), name); break;
    default:
        dag_join(d, "concat", 2, joined);
        tutti_strbuf_printf(&d->text, "  - conv: {name: %s, out_channels: 3, kernel: 1}\n", name);
        break;
    }
    d->nvalues++;
}

static inline void dag_head(dag *d, int v, int number, double weight)
{
    tutti_strbuf_printf(&d->text,
                        "  - dense: {name: head%d, units: %d, from: v%d}\n"
                        "  - softmax-cross-entropy: {name: loss%d, weight: %g}\n",
                        number, DAG_CLASSES, v, number, weight);
}

/* The text of a model file; the caller frees. What nobody has read by the end goes into auxiliary losses, the last
 * value into the main one. */
static inline char *dag_text(uint64_t seed)
{
    dag d = {.seed = seed};
    tutti_strbuf_printf(&d.text, "name: dag%d\ninput: [2, 4, 4]\nclasses: %d\nlayers:\n", (int)seed, DAG_CLASSES);
    tutti_strbuf_puts(&d.text, "  - conv: {name: v0, out_channels: 3, kernel: 3, pad: 1}\n");
    d.nvalues = 1;
    const int n = 4 + dag_below(&d, DAG_MAX_VALUES - 4);
    while (d.nvalues < n) dag_grow(&d);
    for (int v = 0; v < n - 1; v++)
        if (!d.readers[v]) dag_head(&d, v, v, 0.25);
    dag_head(&d, n - 1, n - 1, 1);
    return tutti_strbuf_detach(&d.text);
}

#endif
