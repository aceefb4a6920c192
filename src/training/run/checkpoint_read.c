/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_read.c: nothing of a checkpoint is believed: each file has the manifest's size and xxh3 before it is parsed, each
 * tensor the name and shape that the model wants, and the weights the hash that was printed when they were saved. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/file.h"
#include "../../base/hash.h"
#include "../../base/strbuf.h"
#include "checkpoint_impl.h"

static const size_t MAX_FILE_BYTES = (size_t)1 << 40;

static tutti_status read_file(const char *path, const tutti_manifest *m, int i, char **bytes, tutti_failure *err)
{
    char *file = tutti_checkpoint_path("%s/%s", path, m->files[i].name);
    size_t nbytes;
    tutti_status st = tutti_file_read(file, MAX_FILE_BYTES, TUTTI_ERR_DATA, bytes, &nbytes, err);
    if (st) {
        free(file);
        return st;
    }
    if ((int64_t)nbytes != m->files[i].nbytes)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: %zu bytes, the manifest says %" PRId64, file, nbytes,
                        m->files[i].nbytes);
    else if (tutti_hash(*bytes, nbytes) != m->files[i].hash)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: its checksum differs from the manifest's: it was changed", file);
    if (st) free(*bytes);
    free(file);
    return st;
}

static tutti_status read_named(const char *path, const tutti_manifest *m, const char *name, char **bytes,
                               size_t *nbytes, tutti_failure *err)
{
    for (int i = 0; i < m->nfiles; i++)
        if (!strcmp(m->files[i].name, name)) {
            *nbytes = (size_t)m->files[i].nbytes;
            return read_file(path, m, i, bytes, err);
        }
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: the manifest names no %s", path, name);
}

static tutti_status fill_tensors(const char *path, const char *file, const tutti_safetensors *st,
                                 const tutti_checkpoint *c, bool momentum, tutti_failure *err)
{
    float *base = momentum ? c->momentum : c->weights;
    int n = 0;
    for (int i = 0; i < c->nparams; i++) {
        const tutti_param *p = &c->params[i];
        if (!tutti_checkpoint_stores(p, momentum)) continue;
        const tutti_tensor_ref *t = tutti_safetensors_find(st, p->name);
        if (!t) return tutti_fail(err, TUTTI_ERR_DATA, "%s/%s: no tensor '%s'", path, file, p->name);
        if (!tutti_shape_equal(&t->shape, &p->desc.shape)) {
            char have[96], want[96];
            tutti_shape_text(&t->shape, have);
            tutti_shape_text(&p->desc.shape, want);
            return tutti_fail(err, TUTTI_ERR_DATA, "%s/%s: tensor '%s' is %s, the model's is %s", path, file, p->name,
                              have, want);
        }
        tutti_param_from_plain(&p->desc, t->data, base + c->offset[i]);
        n++;
    }
    if (n != tutti_safetensors_count(st))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s/%s: %d tensors, the model has %d", path, file,
                          tutti_safetensors_count(st), n);
    return TUTTI_OK;
}

static tutti_status read_tensors(const char *path, const tutti_manifest *m, const tutti_checkpoint *c, bool momentum,
                                 tutti_failure *err)
{
    const char *file = momentum ? TUTTI_MOMENTUM_FILE : TUTTI_WEIGHTS_FILE;
    char *bytes;
    size_t nbytes;
    tutti_safetensors *tensors = NULL;
    tutti_status st = read_named(path, m, file, &bytes, &nbytes, err);
    if (st) return st;
    st = tutti_safetensors_parse(file, bytes, nbytes, &tensors, err);
    if (st)
        st = tutti_fail_at(err, "%s", path);
    else
        st = fill_tensors(path, file, tensors, c, momentum, err);
    tutti_safetensors_destroy(tensors);
    free(bytes);
    return st;
}

tutti_status tutti_checkpoint_read(const char *path, tutti_checkpoint *c, tutti_failure *err)
{
    tutti_manifest m;
    tutti_status st = tutti_manifest_read(path, &m, err);
    if (!st) st = read_tensors(path, &m, c, false, err);
    if (!st && c->momentum) st = read_tensors(path, &m, c, true, err);
    if (st) return st;
    if (tutti_weights_hash(c) != m.weights_hash)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: its weights do not have the hash of its manifest", path);
    c->step = m.step;
    c->cursor = m.cursor;
    c->loss = m.loss;
    c->scale = m.scale;
    c->plan_hash = m.plan_hash;
    c->nranks = m.nranks;
    return TUTTI_OK;
}

tutti_status tutti_checkpoint_read_text(const char *path, const char *file, char **text, tutti_failure *err)
{
    tutti_manifest m;
    size_t nbytes;
    tutti_status st = tutti_manifest_read(path, &m, err);
    return st ? st : read_named(path, &m, file, text, &nbytes, err);
}

tutti_status tutti_checkpoint_verify(const char *path, tutti_failure *err)
{
    tutti_manifest m;
    bool weights = false;
    tutti_status st = tutti_manifest_read(path, &m, err);
    if (st) return st;
    for (int i = 0; i < m.nfiles && !st; i++) {
        char *bytes;
        st = read_file(path, &m, i, &bytes, err);
        weights = weights || !strcmp(m.files[i].name, TUTTI_WEIGHTS_FILE);
        if (!st) free(bytes);
    }
    if (!st && !weights) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: holds no weights", path);
    return st;
}

/* Takes the first good one; the words about bad ones are gathered. */
static char *first_good(const tutti_checkpoint_entry *entries, int n, tutti_strbuf *notes)
{
    for (int i = 0; i < n; i++) {
        tutti_failure why = {0};
        tutti_manifest m;
        tutti_status st = tutti_checkpoint_verify(entries[i].path, &why);
        if (!st) st = tutti_manifest_read(entries[i].path, &m, &why);
        if (!st && m.step != entries[i].step)
            st = tutti_fail(&why, TUTTI_ERR_DATA, "%s: holds step %" PRId64, entries[i].path, m.step);
        if (!st) return strdup(entries[i].path);
        tutti_strbuf_printf(notes, "passed over a checkpoint that is not whole: %s\n", why.text);
    }
    return NULL;
}

tutti_status tutti_checkpoint_newest(const char *dir, char **path, char **notes, tutti_failure *err)
{
    tutti_checkpoint_entry *entries;
    tutti_strbuf said = {0};
    int n;
    tutti_status st = tutti_checkpoint_list(dir, &entries, &n, err);
    if (st) return st;
    *path = first_good(entries, n, &said);
    if (notes) *notes = said.length ? tutti_strbuf_detach(&said) : NULL;
    tutti_strbuf_release(&said);
    tutti_checkpoint_list_release(entries, n);
    return TUTTI_OK;
}
