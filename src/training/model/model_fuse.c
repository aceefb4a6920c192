/* SPDX-License-Identifier: Apache-2.0 */
/* model_fuse.c: fuses layers: if only one layer reads the output of another, merges them into an op that computes both
 * at once:
 *
 *   conv, dense, batch-norm -> relu            the op with its ReLU
 *   batch-norm -> add (of two) -> relu         batch norm with a second input and a ReLU: the end of a residual block
 *
 * The ops table says which ops can take a ReLU and an addend. A merged layer has the name, parameters and number of the
 * op with the parameters, and stands at the place of the last merged layer, after everything that it reads. */
#include <stdlib.h>
#include <string.h>

#include "../../base/text/strbuf.h"
#include "model.h"

typedef struct {
    const tutti_model *from;
    int *nreaders; /* per layer: how often its output is read */
    /* per layer: the first layer of the group that ends here, or itself if it is alone; -1 = it is not the last of its
     * group */
    int *head;
    int *join; /* per layer: the add between `head` and this layer, -1 = none */
} fusing;

static bool is_op(const tutti_layer *layer, const char *op)
{
    return strcmp(layer->op->name, op) == 0;
}

static bool has_relu(const tutti_layer *layer)
{
    return ((const char *)layer->attrs)[layer->op->relu_at];
}

const char *tutti_layer_relu(const tutti_layer *layer)
{
    if (is_op(layer, "relu")) return layer->name;
    if (!layer->op->relu_at || !has_relu(layer)) return NULL;
    if (!layer->merged) return layer->name; /* the model file itself gave the layer a ReLU */
    const char *last = strrchr(layer->merged, ' ');
    return last ? last + 1 : layer->merged;
}

/* True if only one layer reads the output of l, and l's op can have that ReLU as its own. */
static bool can_take_relu(const fusing *f, int l)
{
    const tutti_layer *layer = &f->from->layers[l];
    return f->nreaders[l] == 1 && layer->op->relu_at && !has_relu(layer);
}

/* Returns which input of an add can take the other input as its addend; the later input if both can. -1 = neither
 * can. */
static int find_taker(const fusing *f, const tutti_layer *add)
{
    int taker = -1;
    for (int i = 0; i < 2; i++) {
        const int l = add->in[i];
        if (l < 0 || !can_take_relu(f, l) || !f->from->layers[l].op->takes_addend) continue;
        if (f->from->layers[l].nin == 1 && l > taker) taker = l;
    }
    return taker;
}

static void group(fusing *f, int relu)
{
    const tutti_layer *layers = f->from->layers;
    const int source = layers[relu].in[0];
    if (source < 0) return;
    int head = can_take_relu(f, source) ? source : -1, join = -1;
    if (is_op(&layers[source], "add") && layers[source].nin == 2 && f->nreaders[source] == 1) {
        head = find_taker(f, &layers[source]);
        join = source;
    }
    if (head < 0) return;
    f->head[relu] = head;
    f->join[relu] = join;
    f->head[head] = -1;
    if (join >= 0) f->head[join] = -1;
}

static void find_groups(fusing *f)
{
    const tutti_model *m = f->from;
    for (int l = 0; l < m->nlayers; l++) {
        f->head[l] = l;
        f->join[l] = -1;
        for (int i = 0; i < m->layers[l].nin; i++)
            if (m->layers[l].in[i] >= 0) f->nreaders[m->layers[l].in[i]]++;
    }
    for (int l = 0; l < m->nlayers; l++)
        if (is_op(&m->layers[l], "relu")) group(f, l);
}

static void merge(const fusing *f, int last, tutti_layer *out, tutti_arena *arena)
{
    const tutti_layer *layers = f->from->layers;
    const int head = f->head[last], join = f->join[last];
    *out = layers[head];
    if (head == last) return;
    tutti_strbuf also = {0};
    char *attrs = tutti_arena_alloc(arena, out->op->attrs_bytes);
    memcpy(attrs, out->attrs, out->op->attrs_bytes);
    attrs[out->op->relu_at] = true;
    out->attrs = attrs;
    if (join >= 0) {
        out->in[1] = layers[join].in[layers[join].in[0] == head];
        out->nin = 2;
        tutti_strbuf_printf(&also, "%s ", layers[join].name);
    }
    tutti_strbuf_puts(&also, layers[last].name);
    out->merged = tutti_arena_strdup(arena, also.text);
    tutti_strbuf_release(&also);
}

tutti_model *tutti_model_fuse(const tutti_model *m)
{
    const int n = m->nlayers;
    tutti_model *out = tutti_alloc(sizeof *out);
    *out = *m;
    out->arena = (tutti_arena){0};
    out->layers = TUTTI_ARENA_NEW(&out->arena, tutti_layer, n);
    out->nlayers = 0;
    tutti_arena work = {0};
    fusing f = {.from = m,
                .nreaders = TUTTI_ARENA_NEW(&work, int, n),
                .head = TUTTI_ARENA_NEW(&work, int, n),
                .join = TUTTI_ARENA_NEW(&work, int, n)};
    int *place = TUTTI_ARENA_NEW(&work, int, n); /* per layer: place of the group that ends in the layer */
    find_groups(&f);
    for (int l = 0; l < n; l++) {
        if (f.head[l] < 0) continue;
        tutti_layer *layer = &out->layers[out->nlayers];
        merge(&f, l, layer, &out->arena);
        for (int i = 0; i < layer->nin; i++)
            if (layer->in[i] >= 0) layer->in[i] = place[layer->in[i]];
        place[l] = out->nlayers++;
    }
    tutti_arena_release(&work);
    return out;
}
