/* SPDX-License-Identifier: Apache-2.0 */
/* model_parse.c: parses a model file into a tutti_model (format: docs/models.md).
 *
 * A layer is a map of one entry, the op. Its value holds the op's attributes, which are read through the op's own field
 * table, and also `name` and `from`, which every layer has. Layers read only layers above them, so the list is in
 * topological order by construction. Files are not trusted: counts, names and every product of sizes are bounded
 * here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../base/text/options.h"
#include "model.h"

enum { MAX_LAYERS = 10000, MAX_NAME = 100, MAX_OPS = 256 };

typedef struct {
    const char *name;
    tutti_reals input;
    int64_t classes;
} head;

static const tutti_field head_fields[] = {
    {"name", TUTTI_FIELD_TEXT, offsetof(head, name), NULL, NULL, 1, 0, "what reports call the model"},
    {"input", TUTTI_FIELD_REALS, offsetof(head, input), NULL, NULL, 1, INT32_MAX,
     "shape of one sample: [channels, height, width] or [numbers]"},
    {"classes", TUTTI_FIELD_INT, offsetof(head, classes), NULL, NULL, 1, INT32_MAX, "how many labels there are"},
};

/* The state of parsing. */
typedef struct {
    const char *file;
    tutti_model *m;
    int *ordinals; /* per op of the table: number of its layers so far */
    tutti_failure *err;
} parser;

static tutti_status fail_line(parser *p, int line, const char *what)
{
    return tutti_fail(p->err, TUTTI_ERR_DATA, "%s: line %d: %s", p->file, line, what);
}

static bool is_one_of(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (strcmp(key, *keys) == 0) return true;
    return false;
}

/* Returns a map like `from` without these keys, which its reader does not know. Nodes are copied, texts are not. */
static tutti_yaml_node without(parser *p, const tutti_yaml_node *from, const char *const *keys)
{
    tutti_yaml_node map = *from;
    map.kind = TUTTI_YAML_MAP;
    map.child = NULL;
    map.nchildren = 0;
    tutti_yaml_node **end = &map.child;
    for (const tutti_yaml_node *n = from->kind == TUTTI_YAML_MAP ? from->child : NULL; n; n = n->next) {
        if (is_one_of(n->key, keys)) continue;
        *end = TUTTI_ARENA_NEW(&p->m->arena, tutti_yaml_node, 1);
        **end = *n;
        (*end)->next = NULL;
        end = &(*end)->next;
        map.nchildren++;
    }
    return map;
}

/* Reads fields; a failure names the model file. */
static tutti_status read_fields(parser *p, const tutti_field_table *table, const tutti_yaml_node *map, void *target)
{
    tutti_status st =
        tutti_options_read(&(tutti_options_into){table, &p->m->arena, target}, p->file, map, NULL, 0, p->err);
    if (st != TUTTI_OK && p->err) p->err->status = TUTTI_ERR_DATA;
    return st == TUTTI_OK ? TUTTI_OK : TUTTI_ERR_DATA;
}

static tutti_status read_head(parser *p, const tutti_yaml_node *root)
{
    static const char *const others[] = {"layers", NULL};
    static const tutti_field_table table = {head_fields, sizeof head_fields / sizeof *head_fields};
    tutti_yaml_node map = without(p, root, others);
    head h = {0};
    tutti_status st = read_fields(p, &table, &map, &h);
    if (st != TUTTI_OK) return st;
    const tutti_yaml_node *input = tutti_yaml_get(root, "input");
    int line = input ? input->line : root->line;
    if (h.input.n < 1 || h.input.n >= TUTTI_MAX_DIMS) return fail_line(p, line, "input has one to three dims");
    for (int d = 0; d < h.input.n; d++) {
        double size = h.input.values[d];
        if (!(size >= 1 && size <= INT32_MAX && floor(size) == size))
            return fail_line(p, line, "dims of the input are whole numbers from 1 to 2^31 - 1");
        p->m->input.dim[d] = (int64_t)size;
    }
    p->m->input.ndims = h.input.n;
    p->m->name = h.name;
    p->m->nclasses = (int)h.classes;
    return TUTTI_OK;
}

static tutti_status fail_unknown_op(parser *p, const char *name, int line)
{
    const char *known[MAX_OPS];
    int n = 0;
    for (; n < tutti_op_count() && n < MAX_OPS; n++) known[n] = tutti_op_at(n)->name;
    const char *nearest = tutti_options_nearest(name, known, n);
    return tutti_fail(p->err, TUTTI_ERR_DATA, "%s: line %d: there is no op %.60s%s%s%s", p->file, line, name,
                      nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
}

/* True for a valid name: letters, digits, and _ - . between them. Checkpoints and reports contain names. */
static bool is_name(const char *text)
{
    static const char marks[] = "_-.";
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t n = strlen(text), first = strspn(text, letters);
    if (n == 0 || n > MAX_NAME || first == 0) return false;
    for (size_t i = 0; i < n; i++)
        if (!strchr(letters, text[i]) && !strchr(marks, text[i])) return false;
    return true;
}

static int find_layer(const tutti_model *m, const char *name)
{
    for (int l = m->nlayers - 1; l >= 0; l--)
        if (strcmp(m->layers[l].name, name) == 0) return l;
    return -1;
}

static tutti_status set_name(parser *p, tutti_layer *layer, const tutti_yaml_node *given)
{
    int ordinal = 0;
    for (int i = 0; i < tutti_op_count(); i++)
        if (tutti_op_at(i) == layer->op) ordinal = ++p->ordinals[i];
    if (given && (!given->scalar || !is_name(given->scalar)))
        return fail_line(p, given->line,
                         "a name has letters, digits and . _ -, begins with a letter or digit, at most 100");
    if (given) {
        layer->name = tutti_arena_strdup(&p->m->arena, given->scalar);
    } else {
        tutti_strbuf text = {0};
        tutti_strbuf_printf(&text, "%s%d", layer->op->name, ordinal);
        layer->name = tutti_arena_strdup(&p->m->arena, text.text);
        tutti_strbuf_release(&text);
    }
    if (strcmp(layer->name, "input") == 0) return fail_line(p, layer->line, "the name input is the model's input");
    int twin = find_layer(p->m, layer->name);
    if (twin < 0) return TUTTI_OK;
    return tutti_fail(p->err, TUTTI_ERR_DATA, "%s: line %d: the name %s is that of the layer at line %d", p->file,
                      layer->line, layer->name, p->m->layers[twin].line);
}

static tutti_status set_input(parser *p, tutti_layer *layer, int i, const tutti_yaml_node *from)
{
    if (!from->scalar) return fail_line(p, from->line, "from names a layer");
    layer->in[i] = strcmp(from->scalar, "input") == 0 ? -1 : find_layer(p->m, from->scalar);
    if (layer->in[i] < 0 && strcmp(from->scalar, "input") != 0)
        return tutti_fail(p->err, TUTTI_ERR_DATA, "%s: line %d: there is no layer %.60s above layer %s", p->file,
                          from->line, from->scalar, layer->name);
    return TUTTI_OK;
}

/* Sets the layer's inputs from the names in `from`. A layer without `from` reads the layer above it. */
static tutti_status set_inputs(parser *p, tutti_layer *layer, const tutti_yaml_node *from)
{
    const int least = layer->op->ninputs, most = layer->op->max_inputs ? layer->op->max_inputs : least;
    if (!from && least == 1) {
        layer->nin = 1;
        layer->in[0] = p->m->nlayers - 1;
        return TUTTI_OK;
    }
    layer->nin = !from ? 0 : from->kind == TUTTI_YAML_LIST ? from->nchildren : 1;
    if (layer->nin < least || layer->nin > most) {
        char wants[40];
        snprintf(wants, sizeof wants, most > least ? "%d to %d" : "%d", least, most);
        return tutti_fail(p->err, TUTTI_ERR_DATA, "%s: line %d: layer %s reads %s layers, from names %d", p->file,
                          layer->line, layer->name, wants, layer->nin);
    }
    const tutti_yaml_node *n = from->kind == TUTTI_YAML_LIST ? from->child : from;
    for (int i = 0; i < layer->nin; i++, n = n->next) {
        tutti_status st = set_input(p, layer, i, n);
        if (st != TUTTI_OK) return st;
    }
    return TUTTI_OK;
}

/* Reads "- relu", "- relu:" or "- conv: {...}". */
static tutti_status read_layer(parser *p, const tutti_yaml_node *item)
{
    static const char *const others[] = {"name", "from", NULL};
    const tutti_yaml_node *body = item->kind == TUTTI_YAML_MAP ? item->child : item;
    if (item->kind == TUTTI_YAML_LIST || (item->kind == TUTTI_YAML_MAP && item->nchildren != 1))
        return fail_line(p, item->line, "a layer is one op: - conv: {out_channels: 20, kernel: 5}");
    const char *op_name = item->kind == TUTTI_YAML_MAP ? body->key : item->scalar;
    bool bare = body->kind == TUTTI_YAML_SCALAR && (body == item || body->scalar[0] == '\0');
    tutti_layer layer = {.op = tutti_op_find(op_name), .line = body->line, .number = p->m->nlayers};
    if (!layer.op) return fail_unknown_op(p, op_name, body->line);
    if (!bare && body->kind != TUTTI_YAML_MAP)
        return fail_line(p, body->line, "attributes of a layer are a map: {out_channels: 20, kernel: 5}");
    tutti_status st = set_name(p, &layer, bare ? NULL : tutti_yaml_get(body, "name"));
    if (st == TUTTI_OK) st = set_inputs(p, &layer, bare ? NULL : tutti_yaml_get(body, "from"));
    if (st != TUTTI_OK) return st;
    tutti_yaml_node attrs = without(p, body, others);
    layer.attrs = tutti_arena_alloc(&p->m->arena, layer.op->attrs_bytes);
    st = read_fields(p, &layer.op->fields, &attrs, layer.attrs);
    if (st == TUTTI_OK) p->m->layers[p->m->nlayers++] = layer;
    return st;
}

static tutti_status read_layers(parser *p, const tutti_yaml_node *root)
{
    const tutti_yaml_node *list = tutti_yaml_get(root, "layers");
    if (!list || list->kind != TUTTI_YAML_LIST || list->nchildren == 0)
        return fail_line(p, list ? list->line : root->line, "layers is a list of at least one layer");
    if (list->nchildren > MAX_LAYERS) return fail_line(p, list->line, "a model has at most 10000 layers");
    p->m->layers = TUTTI_ARENA_NEW(&p->m->arena, tutti_layer, list->nchildren);
    p->ordinals = TUTTI_ARENA_NEW(&p->m->arena, int, tutti_op_count());
    for (const tutti_yaml_node *item = list->child; item; item = item->next) {
        tutti_status st = read_layer(p, item);
        if (st != TUTTI_OK) return st;
    }
    return TUTTI_OK;
}

/* Checks that the last layer is a loss (earlier losses are auxiliary), and that every other layer's output is read. */
static tutti_status check_readers(parser *p)
{
    const tutti_model *m = p->m;
    bool *is_read = TUTTI_ARENA_NEW(&p->m->arena, bool, m->nlayers);
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *layer = &m->layers[l];
        if (l == m->nlayers - 1 && !layer->op->is_loss)
            return fail_line(p, layer->line, "a model ends in its loss: - softmax-cross-entropy");
        for (int i = 0; i < layer->nin; i++) {
            if (layer->in[i] < 0) continue;
            is_read[layer->in[i]] = true;
            if (m->layers[layer->in[i]].op->is_loss)
                return tutti_fail(p->err, TUTTI_ERR_DATA,
                                  "%s: line %d: layer %s reads %s, a loss, which has no output; say `from:`", p->file,
                                  layer->line, layer->name, m->layers[layer->in[i]].name);
        }
    }
    for (int l = 0; l < m->nlayers - 1; l++)
        if (!is_read[l] && !m->layers[l].op->is_loss)
            return tutti_fail(p->err, TUTTI_ERR_DATA, "%s: line %d: no layer reads layer %s", p->file,
                              m->layers[l].line, m->layers[l].name);
    return TUTTI_OK;
}

/* Checks that shapes fit at batch 1, and that each loss reads one number for each class. */
static tutti_status check_shapes(parser *p)
{
    const tutti_model *m = p->m;
    tutti_shape *shapes = TUTTI_ARENA_NEW(&p->m->arena, tutti_shape, m->nlayers);
    tutti_status st = tutti_model_infer(m, 1, shapes, p->err);
    if (st != TUTTI_OK) return tutti_fail_at(p->err, "%s", p->file);
    for (int l = 0; l < m->nlayers; l++) {
        const tutti_layer *loss = &m->layers[l];
        if (!loss->op->is_loss) continue;
        int64_t logits = loss->in[0] < 0 ? m->input.dim[0] : shapes[loss->in[0]].dim[1];
        if (logits != m->nclasses)
            return tutti_fail(p->err, TUTTI_ERR_DATA,
                              "%s: line %d: layer %s reads %lld numbers a sample, classes is %d", p->file, loss->line,
                              loss->name, (long long)logits, m->nclasses);
    }
    return TUTTI_OK;
}

tutti_status tutti_model_parse(const char *name, const char *text, size_t nbytes, tutti_model **out, tutti_failure *err)
{
    tutti_yaml *yaml = NULL;
    tutti_status st = tutti_yaml_parse(name, text, nbytes, &yaml, err);
    if (st != TUTTI_OK) {
        if (err) err->status = TUTTI_ERR_DATA;
        return TUTTI_ERR_DATA;
    }
    tutti_model *m = tutti_alloc(sizeof *m);
    parser p = {.file = name, .m = m, .err = err};
    m->text = tutti_arena_alloc(&m->arena, nbytes + 1);
    memcpy(m->text, text, nbytes);
    const tutti_yaml_node *root = tutti_yaml_root(yaml);
    if (root->kind != TUTTI_YAML_MAP) st = fail_line(&p, root->line, "a model is a map: name, input, classes, layers");
    if (st == TUTTI_OK) st = read_head(&p, root);
    if (st == TUTTI_OK) st = read_layers(&p, root);
    if (st == TUTTI_OK) st = check_readers(&p);
    if (st == TUTTI_OK) st = check_shapes(&p);
    tutti_yaml_destroy(yaml);
    if (st != TUTTI_OK) {
        tutti_model_destroy(m);
        return st;
    }
    *out = m;
    return TUTTI_OK;
}
