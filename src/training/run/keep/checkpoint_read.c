/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_read.c: reads and verifies checkpoints. A checkpoint is not trusted: each file must have the manifest's
 * size and xxh3 before it is parsed, each tensor the name and shape that the model requires, and the weights the hash
 * that was printed when they were saved. One function, tutti_checkpoint_verify, decides whether a checkpoint is
 * complete, for resuming, evaluating and listing alike. It does not check the hash of the weights, because it does not
 * know the order of parameters in which they are hashed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../../base/file.h"
#include "../../../base/hash.h"
#include "../../../base/text/strbuf.h"
#include "../../../base/text/yaml.h"
#include "../../model/model.h"
#include "checkpoint_impl.h"

static const size_t MAX_FILE_BYTES = (size_t)1 << 40;

/* Refuses a symbolic link: the file behind it belongs to somebody else, who may change or remove it between this check
 * and the reading. */
static tutti_status refuse_link(const char *file, tutti_failure *err)
{
    struct stat info;
    if (lstat(file, &info) || !S_ISLNK(info.st_mode)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: is a link: put the file itself into the checkpoint", file);
}

static tutti_status read_file(const char *path, const tutti_manifest *m, int i, const tutti_headway *headway,
                              char **bytes, tutti_failure *err)
{
    char *file = tutti_checkpoint_path("%s/%s", path, m->files[i].name);
    size_t nbytes;
    const tutti_file_wish wish = {file, MAX_FILE_BYTES, TUTTI_ERR_DATA, headway};
    tutti_status st = refuse_link(file, err);
    if (!st) st = tutti_file_read_told(&wish, bytes, &nbytes, err);
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

/* Returns the file's index; -1, with a message, if it is missing. */
static int find_file(const char *path, const tutti_manifest *m, const char *name, tutti_failure *err)
{
    for (int i = 0; i < m->nfiles; i++)
        if (!strcmp(m->files[i].name, name)) return i;
    (void)tutti_fail(err, TUTTI_ERR_DATA, "%s: the manifest names no %s", path, name);
    return -1;
}

static tutti_status fill_tensors(const char *path, const tutti_safetensors *st, const tutti_checkpoint *c,
                                 const tutti_checkpoint_vector *v, tutti_failure *err)
{
    const char *file = v->name;
    int n = 0;
    for (int i = 0; i < c->nparams; i++) {
        const tutti_param *p = &c->params[i];
        if (!tutti_checkpoint_stores(p, v->is_state)) continue;
        const tutti_tensor_ref *t = tutti_safetensors_find(st, p->name);
        if (!t) return tutti_fail(err, TUTTI_ERR_DATA, "%s/%s: no tensor '%s'", path, file, p->name);
        if (!tutti_shape_equal(&t->shape, &p->desc.shape)) {
            char have[96], want[96];
            tutti_shape_text(&t->shape, have);
            tutti_shape_text(&p->desc.shape, want);
            return tutti_fail(err, TUTTI_ERR_DATA, "%s/%s: tensor '%s' is %s, the model's is %s", path, file, p->name,
                              have, want);
        }
        tutti_param_from_plain(&p->desc, t->data, v->values + c->offset[i]);
        n++;
    }
    if (n != tutti_safetensors_count(st))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s/%s: %d tensors, the model has %d", path, file,
                          tutti_safetensors_count(st), n);
    return TUTTI_OK;
}

static tutti_status read_tensors(const char *path, const tutti_manifest *m, const tutti_checkpoint *c,
                                 const tutti_checkpoint_vector *v, tutti_failure *err)
{
    char *bytes;
    tutti_safetensors *tensors = NULL;
    const int i = find_file(path, m, v->name, err);
    tutti_status st = i < 0 ? TUTTI_ERR_DATA : read_file(path, m, i, &c->headway, &bytes, err);
    if (st) return st;
    st = tutti_safetensors_parse(v->name, bytes, (size_t)m->files[i].nbytes, &tensors, err);
    if (st)
        st = tutti_fail_at(err, "%s", path);
    else
        st = fill_tensors(path, tensors, c, v, err);
    tutti_safetensors_destroy(tensors);
    free(bytes);
    return st;
}

tutti_status tutti_checkpoint_read(const char *path, tutti_checkpoint *c, tutti_failure *err)
{
    tutti_manifest m;
    tutti_status st = tutti_manifest_read(path, &m, err);
    for (int s = TUTTI_CHECKPOINT_WEIGHTS; s < c->nstates && !st; s++) {
        const tutti_checkpoint_vector v = tutti_checkpoint_vector_of(c, s);
        st = read_tensors(path, &m, c, &v, err);
    }
    if (st) return st;
    if (tutti_weights_hash(c) != m.weights_hash)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: its weights do not have the hash of its manifest", path);
    c->step = m.step;
    c->cursor = m.cursor;
    c->loss = m.loss;
    c->scale = m.scale;
    c->earlier_updates = m.earlier_updates;
    memcpy(c->skips, m.skips, sizeof c->skips);
    c->plan_hash = m.plan_hash;
    c->nranks = m.nranks;
    return TUTTI_OK;
}

tutti_status tutti_checkpoint_read_own(const char *path, tutti_checkpoint *c, bool *found, tutti_failure *err)
{
    tutti_manifest m;
    tutti_status st = tutti_manifest_read(path, &m, err);
    *found = !st && m.nranks == c->nranks;
    for (int i = 0; i < c->nown && *found && !st; i++) {
        const tutti_checkpoint_vector v = tutti_checkpoint_own_of(c, i);
        st = read_tensors(path, &m, c, &v, err);
    }
    return st;
}

tutti_status tutti_checkpoint_read_file(const char *path, const char *file, const tutti_headway *headway, char **bytes,
                                        size_t *nbytes, tutti_failure *err)
{
    tutti_manifest m;
    tutti_status st = tutti_manifest_read(path, &m, err);
    if (st) return st;
    const int i = find_file(path, &m, file, err);
    if (i < 0) return TUTTI_ERR_DATA;
    *nbytes = (size_t)m.files[i].nbytes;
    return read_file(path, &m, i, headway, bytes, err);
}

tutti_status tutti_checkpoint_read_text(const char *path, const char *file, char **text, tutti_failure *err)
{
    size_t nbytes;
    return tutti_checkpoint_read_file(path, file, NULL, text, &nbytes, err);
}

tutti_status tutti_checkpoint_read_data(const char *path, tutti_data_identity *out, bool *found, tutti_failure *err)
{
    tutti_manifest m;
    char *text = NULL;
    tutti_status st = tutti_manifest_read(path, &m, err);
    *found = false;
    for (int i = 0; i < m.nfiles && !st; i++) *found = *found || !strcmp(m.files[i].name, TUTTI_DATA_FILE);
    if (st || !*found) return st;
    st = tutti_checkpoint_read_text(path, TUTTI_DATA_FILE, &text, err);
    if (st) return st;
    st = tutti_data_identity_parse(text, out, err);
    free(text);
    return st ? tutti_fail_at(err, "%s", path) : TUTTI_OK;
}

/* ---- tutti_checkpoint_verify ---- */

static tutti_status check_text(const char *name, const char *bytes, size_t nbytes, tutti_failure *err)
{
    tutti_yaml *yaml = NULL;
    tutti_model *model = NULL;
    tutti_status st = !strcmp(name, "model.yaml") ? tutti_model_parse(name, bytes, nbytes, &model, err)
                                                  : tutti_yaml_parse(name, bytes, nbytes, &yaml, err);
    tutti_yaml_destroy(yaml);
    tutti_model_destroy(model);
    if (st && err) err->status = TUTTI_ERR_DATA; /* not a user's mistake: the program wrote both texts */
    return st ? TUTTI_ERR_DATA : TUTTI_OK;
}

static tutti_status check_file(const char *path, const tutti_manifest *m, int i, const tutti_headway *headway,
                               tutti_failure *err)
{
    const char *name = m->files[i].name;
    const size_t nbytes = (size_t)m->files[i].nbytes;
    tutti_safetensors *tensors = NULL;
    char *bytes;
    tutti_status st = read_file(path, m, i, headway, &bytes, err);
    if (st) return st;
    st = strstr(name, ".safetensors") ? tutti_safetensors_parse(name, bytes, nbytes, &tensors, err)
                                      : check_text(name, bytes, nbytes, err);
    tutti_safetensors_destroy(tensors);
    free(bytes);
    if (st) tutti_fail_at(err, "%s", path);
    return st;
}

/* Checks the name of a checkpoint's folder: a name like step_000000123 must have the manifest's step. Any other name is
 * accepted. */
static tutti_status check_name(const char *path, const tutti_manifest *m, tutti_failure *err)
{
    const char *slash = strrchr(path, '/');
    const int64_t step = tutti_checkpoint_step_of(slash ? slash + 1 : path);
    if (step < 0 || step == m->step) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA, "%s: holds step %" PRId64, path, m->step);
}

tutti_status tutti_checkpoint_verify_told(const char *path, const tutti_headway *headway, tutti_failure *err)
{
    static const char *const wanted[] = {TUTTI_WEIGHTS_FILE, "job.yaml", "model.yaml"};
    enum { NWANTED = sizeof wanted / sizeof *wanted };
    tutti_manifest m;
    unsigned found = 0;
    tutti_status st = tutti_manifest_read(path, &m, err);
    if (!st) st = check_name(path, &m, err);
    if (st) return st;
    for (int i = 0; i < m.nfiles; i++)
        for (int w = 0; w < NWANTED; w++) found |= !strcmp(m.files[i].name, wanted[w]) ? 1u << w : 0;
    for (int w = 0; w < NWANTED; w++)
        if (!(found >> w & 1)) return tutti_fail(err, TUTTI_ERR_DATA, "%s: the manifest names no %s", path, wanted[w]);
    for (int i = 0; i < m.nfiles && !st; i++) st = check_file(path, &m, i, headway, err);
    return st;
}

tutti_status tutti_checkpoint_verify(const char *path, tutti_failure *err)
{
    return tutti_checkpoint_verify_told(path, NULL, err);
}

bool tutti_checkpoint_is(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *manifest = tutti_checkpoint_path("%s/" TUTTI_MANIFEST_FILE, path);
    const bool is = tutti_checkpoint_step_of(slash ? slash + 1 : path) >= 0 || access(manifest, F_OK) == 0;
    free(manifest);
    return is;
}

bool tutti_checkpoint_is_gone(const char *path)
{
    return access(path, F_OK) != 0 && errno == ENOENT;
}

/* Returns the first good checkpoint; messages about bad ones are collected. *gone: a checkpoint has been removed
 * meanwhile. */
static char *first_good(const tutti_checkpoint_entry *entries, int n, const tutti_headway *headway, bool *gone,
                        tutti_strbuf *notes)
{
    for (int i = 0; i < n; i++) {
        tutti_failure why = {0};
        if (!tutti_checkpoint_verify_told(entries[i].path, headway, &why)) return strdup(entries[i].path);
        if (tutti_checkpoint_is_gone(entries[i].path)) {
            *gone = true;
            continue;
        }
        tutti_strbuf_printf(notes, "passed over a checkpoint that is not whole: %s\n", why.text);
    }
    return NULL;
}

bool tutti_checkpoint_look_again(int *nempty)
{
    enum { LOOKS = 10 };
    const struct timespec pause = {.tv_nsec = 1000000};
    if (++*nempty > LOOKS) return false;
    nanosleep(&pause, NULL);
    return true;
}

tutti_status tutti_checkpoint_newest_told(const char *dir, const tutti_headway *headway, char **path, char **notes,
                                          tutti_failure *err)
{
    tutti_strbuf said = {0};
    bool gone = true;
    int nempty = 0;
    *path = NULL;
    for (int look = 0; look < TUTTI_CHECKPOINT_LOOKS && gone && !*path; look++) {
        tutti_checkpoint_entry *entries;
        int n;
        tutti_strbuf_release(&said);
        tutti_status st = tutti_checkpoint_list(dir, &entries, &n, err);
        gone = !st && !n && tutti_checkpoint_look_again(&nempty);
        if (!st) *path = first_good(entries, n, headway, &gone, &said);
        tutti_checkpoint_list_release(entries, n);
        if (st) return st;
    }
    if (notes) *notes = said.length ? tutti_strbuf_detach(&said) : NULL;
    tutti_strbuf_release(&said);
    return TUTTI_OK;
}

tutti_status tutti_checkpoint_newest(const char *dir, char **path, char **notes, tutti_failure *err)
{
    return tutti_checkpoint_newest_told(dir, NULL, path, notes, err);
}
