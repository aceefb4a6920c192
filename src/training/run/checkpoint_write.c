/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_write.c: a checkpoint appears all at once or not at all.
 *
 *   step_N.tmp/  files, each synced -> MANIFEST.json, synced -> rename to step_N -> sync of the folder
 *
 * Invariants: a folder without ".tmp" has a manifest; an older checkpoint goes only when a newer one has lasted. A failed
 * write or sync is told, not tried again: the kernel may have dropped the pages (fsyncgate). */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/hash.h"
#include "checkpoint_impl.h"

char *tutti_checkpoint_path(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) tutti_no_memory(strlen(format));
    va_end(args);
    return text;
}

bool tutti_checkpoint_stores(const tutti_param *p, bool of_state)
{
    return p->name[0] != '@' && !(of_state && p->desc.kind == TUTTI_PARAM_STATISTIC);
}

tutti_checkpoint_vector tutti_checkpoint_vector_of(const tutti_checkpoint *c, int state)
{
    tutti_checkpoint_vector v = {TUTTI_WEIGHTS_FILE, false, c->weights};
    if (state == TUTTI_CHECKPOINT_WEIGHTS) return v;
    snprintf(v.name, sizeof v.name, "%s.safetensors", c->state_name[state]);
    v.is_state = true;
    v.values = c->state[state];
    return v;
}

/* A parameter as the world outside sees it; the arena owns it where it is a copy. */
static float *row_major(const tutti_param *p, float *values, tutti_arena *arena)
{
    if (!p->desc.layout) return values;
    float *plain = tutti_arena_alloc(arena, (size_t)p->count * sizeof(float));
    tutti_param_to_plain(&p->desc, values, plain);
    return plain;
}

uint64_t tutti_weights_hash(const tutti_checkpoint *c)
{
    tutti_hasher *h = tutti_hasher_create();
    for (int i = 0; i < c->nparams; i++) {
        const tutti_param *p = &c->params[i];
        if (!tutti_checkpoint_stores(p, false)) continue;
        tutti_hasher_add(h, p->name, strlen(p->name) + 1);
        tutti_arena arena = {0};
        tutti_hasher_add(h, row_major(p, c->weights + c->offset[i], &arena), (size_t)p->count * sizeof(float));
        tutti_arena_release(&arena);
    }
    return tutti_hasher_finish(h);
}

/* ---- one file ---- */

static tutti_status write_file(const char *folder, const char *name, const char *bytes, size_t nbytes,
                               tutti_manifest *m, tutti_failure *err)
{
    char *path = tutti_checkpoint_path("%s/%s", folder, name);
    tutti_status st = tutti_file_write_atomic(path, bytes, nbytes, err);
    snprintf(m->files[m->nfiles].name, sizeof m->files[0].name, "%s", name);
    m->files[m->nfiles].nbytes = (int64_t)nbytes;
    m->files[m->nfiles].hash = tutti_hash(bytes, nbytes);
    m->nfiles++;
    free(path);
    return st;
}

static tutti_status write_tensors(const char *folder, const tutti_checkpoint *c, int state, tutti_manifest *m,
                                  tutti_failure *err)
{
    tutti_tensor_ref *refs = tutti_alloc(sizeof *refs * (size_t)(c->nparams + 1));
    const tutti_checkpoint_vector v = tutti_checkpoint_vector_of(c, state);
    int n = 0;
    for (int i = 0; i < c->nparams; i++)
        if (tutti_checkpoint_stores(&c->params[i], v.is_state))
            refs[n++] = (tutti_tensor_ref){c->params[i].name, c->params[i].desc.shape, v.values + c->offset[i],
                                           &c->params[i].desc};
    char *bytes;
    size_t nbytes;
    tutti_safetensors_write(refs, n, (const char *const[]){"format", "pt", NULL}, &bytes, &nbytes);
    tutti_status st = write_file(folder, v.name, bytes, nbytes, m, err);
    free(bytes);
    free(refs);
    return st;
}

static tutti_status write_manifest(const char *folder, const tutti_manifest *m, tutti_failure *err)
{
    char *path = tutti_checkpoint_path("%s/" TUTTI_MANIFEST_FILE, folder), *text = tutti_manifest_print(m);
    tutti_status st = tutti_file_write_atomic(path, text, strlen(text), err);
    free(path);
    free(text);
    return st;
}

static tutti_status write_folder(const char *folder, const tutti_checkpoint *c, tutti_failure *err)
{
    tutti_manifest m = {.step = c->step,
                        .cursor = c->cursor,
                        .loss = c->loss,
                        .scale = c->scale,
                        .plan_hash = c->plan_hash,
                        .weights_hash = tutti_weights_hash(c),
                        .nranks = c->nranks};
    tutti_status st = tutti_file_remove_tree(folder, err);
    if (!st) st = tutti_file_make_dir_in_place(folder, err);
    for (int s = TUTTI_CHECKPOINT_WEIGHTS; s < c->nstates && !st; s++) st = write_tensors(folder, c, s, &m, err);
    if (!st) st = write_file(folder, "job.yaml", c->job_text, strlen(c->job_text), &m, err);
    if (!st) st = write_file(folder, "model.yaml", c->model_text, strlen(c->model_text), &m, err);
    if (!st && c->costs_text) st = write_file(folder, TUTTI_COSTS_FILE, c->costs_text, strlen(c->costs_text), &m, err);
    return st ? st : write_manifest(folder, &m, err);
}

/* ---- the folder of all ---- */

static int newest_first(const void *a, const void *b)
{
    const int64_t x = ((const tutti_checkpoint_entry *)a)->step, y = ((const tutti_checkpoint_entry *)b)->step;
    return (x < y) - (x > y);
}

int64_t tutti_checkpoint_step_of(const char *name)
{
    const char *digits = name + 5;
    if (strncmp(name, "step_", 5) != 0 || strlen(digits) < 9 || strlen(digits) > 15) return -1;
    return digits[strspn(digits, "0123456789")] ? -1 : strtoll(digits, NULL, 10);
}

tutti_status tutti_checkpoint_list(const char *dir, tutti_checkpoint_entry **out, int *n, tutti_failure *err)
{
    char *folder = tutti_checkpoint_path("%s/checkpoints", dir);
    tutti_status st = TUTTI_OK;
    DIR *d = opendir(folder);
    *out = NULL;
    *n = 0;
    if (!d && errno != ENOENT)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot read the folder: %s", folder, strerror(errno));
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        const int64_t step = tutti_checkpoint_step_of(e->d_name);
        if (step < 0) continue;
        *out = tutti_realloc(*out, sizeof **out * (size_t)(*n + 1));
        (*out)[(*n)++] = (tutti_checkpoint_entry){tutti_checkpoint_path("%s/%s", folder, e->d_name), step};
    }
    if (d) closedir(d);
    if (*n) qsort(*out, (size_t)*n, sizeof **out, newest_first);
    free(folder);
    return st;
}

void tutti_checkpoint_list_release(tutti_checkpoint_entry *entries, int n)
{
    for (int i = 0; i < n; i++) free(entries[i].path);
    free(entries);
}

/* Away from its name first, so that a half-removed one is never taken for a torn one. */
static tutti_status remove_one(const char *path, tutti_failure *err)
{
    char *away = tutti_checkpoint_path("%s.tmp", path);
    tutti_status st = tutti_file_remove_tree(away, err);
    if (!st && rename(path, away) != 0)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot rename: %s", path, strerror(errno));
    if (!st) st = tutti_file_remove_tree(away, err);
    free(away);
    return st;
}

static tutti_status remove_beyond(const char *dir, int keep, tutti_failure *err)
{
    tutti_checkpoint_entry *entries;
    int n;
    tutti_status st = tutti_checkpoint_list(dir, &entries, &n, err);
    for (int i = keep < 1 ? 1 : keep; i < n && !st; i++) st = remove_one(entries[i].path, err);
    tutti_checkpoint_list_release(entries, n);
    return st;
}

/* What a killed run left behind. */
static tutti_status remove_stale(const char *folder, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e && !st; e = readdir(d)) {
        const size_t length = strlen(e->d_name);
        if (strncmp(e->d_name, "step_", 5) != 0 || length < 4 || strcmp(e->d_name + length - 4, ".tmp") != 0) continue;
        char *path = tutti_checkpoint_path("%s/%s", folder, e->d_name);
        st = tutti_file_remove_tree(path, err);
        free(path);
    }
    if (d) closedir(d);
    return st;
}

/* A checkpoint of this step may be there already: a good one of the same weights is as good as ours, any other goes. */
static tutti_status put_in_place(const char *temporary, const char *final, const tutti_checkpoint *c,
                                 tutti_failure *err)
{
    tutti_manifest m;
    if (!tutti_checkpoint_verify(final, NULL) && !tutti_manifest_read(final, &m, NULL) &&
        m.weights_hash == tutti_weights_hash(c) && m.cursor == c->cursor)
        return tutti_file_remove_tree(temporary, err);
    tutti_status st = tutti_file_remove_tree(final, err);
    if (!st && rename(temporary, final) != 0)
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot rename to %s: %s", temporary, final, strerror(errno));
    return st;
}

tutti_status tutti_checkpoint_write(const char *dir, const tutti_checkpoint *c, int keep, tutti_failure *err)
{
    char *folder = tutti_checkpoint_path("%s/checkpoints", dir);
    char *final = tutti_checkpoint_path("%s/step_%09" PRId64, folder, c->step);
    char *temporary = tutti_checkpoint_path("%s.tmp", final);
    tutti_status st = tutti_file_make_dir_in_place(folder, err);
    if (!st) st = remove_stale(folder, err);
    if (!st) st = write_folder(temporary, c, err);
    if (!st) st = put_in_place(temporary, final, c, err);
    if (!st) st = tutti_file_sync_dir(folder, err);
    if (!st) st = remove_beyond(dir, keep, err);
    free(folder);
    free(final);
    free(temporary);
    return st ? tutti_fail_at(err, "checkpoint of step %" PRId64, c->step) : TUTTI_OK;
}

tutti_status tutti_checkpoint_remove_all(const char *dir, tutti_failure *err)
{
    char *folder = tutti_checkpoint_path("%s/checkpoints", dir);
    tutti_checkpoint_entry *entries;
    int n;
    tutti_status st = tutti_checkpoint_list(dir, &entries, &n, err);
    for (int i = 0; i < n && !st; i++) st = remove_one(entries[i].path, err);
    if (!st) st = remove_stale(folder, err);
    tutti_checkpoint_list_release(entries, n);
    free(folder);
    return st;
}
