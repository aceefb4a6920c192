/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_write.c: writes a checkpoint and removes old ones. A checkpoint appears all at once or not at all.
 *
 *   step_N.tmp/  files, each synced -> MANIFEST.json, synced -> rename to step_N -> sync of the folder
 *
 * Invariants: a folder without ".tmp" has a manifest; an older checkpoint is removed only when a newer one is on disk.
 * A failed write or sync is reported, not tried again: the kernel may have dropped the pages (fsyncgate). */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../../base/file.h"
#include "../../../base/hash.h"
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
    return p->name[0] != '@' && (!of_state || tutti_param_is_learned(p));
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

tutti_checkpoint_vector tutti_checkpoint_own_of(const tutti_checkpoint *c, int own)
{
    tutti_checkpoint_vector v = {.is_state = c->own[own].is_state, .values = c->own[own].values};
    snprintf(v.name, sizeof v.name, "%.18s@%d.safetensors", c->own[own].name, c->rank);
    return v;
}

/* Returns a parameter in row-major order; the arena owns it if it is a copy. */
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
        (void)tutti_headway_tell(&c->headway, 0, 0);
        tutti_hasher_add(h, row_major(p, c->weights + c->offset[i], &arena), (size_t)p->count * sizeof(float));
        tutti_arena_release(&arena);
    }
    return tutti_hasher_finish(h);
}

/* ---- one file ---- */

/* file: the file's entry in the manifest, whose name is set already. */
static tutti_status write_file(const char *folder, const char *bytes, size_t nbytes, const tutti_headway *headway,
                               tutti_checkpoint_file *file, tutti_failure *err)
{
    char *path = tutti_checkpoint_path("%s/%s", folder, file->name);
    tutti_status st = tutti_file_write_told(path, bytes, nbytes, headway, err);
    file->nbytes = (int64_t)nbytes;
    file->hash = tutti_hash(bytes, nbytes);
    free(path);
    return st;
}

static tutti_status write_tensors(const char *folder, const tutti_checkpoint *c, const tutti_checkpoint_vector *v,
                                  tutti_checkpoint_file *file, tutti_failure *err)
{
    tutti_tensor_ref *refs = tutti_alloc(sizeof *refs * (size_t)(c->nparams + 1));
    int n = 0;
    for (int i = 0; i < c->nparams; i++)
        if (tutti_checkpoint_stores(&c->params[i], v->is_state))
            refs[n++] = (tutti_tensor_ref){c->params[i].name, c->params[i].desc.shape, v->values + c->offset[i],
                                           &c->params[i].desc};
    char *bytes;
    size_t nbytes;
    tutti_safetensors_write(refs, n, (const char *const[]){"format", "pt", NULL}, &bytes, &nbytes);
    snprintf(file->name, sizeof file->name, "%s", v->name);
    tutti_status st = write_file(folder, bytes, nbytes, &c->headway, file, err);
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

static tutti_status write_folder(const char *folder, const tutti_checkpoint *c, const tutti_checkpoint_file *files,
                                 int nfiles, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_manifest m = {.step = c->step,
                        .cursor = c->cursor,
                        .loss = c->loss,
                        .scale = c->scale,
                        .earlier_updates = c->earlier_updates,
                        .plan_hash = c->plan_hash,
                        .weights_hash = tutti_weights_hash(c),
                        .nranks = c->nranks,
                        .device = c->device};
    memcpy(m.skips, c->skips, sizeof m.skips);
    const struct {
        const char *name, *text;
    } texts[] = {{"job.yaml", c->job_text},
                 {"model.yaml", c->model_text},
                 {TUTTI_DATA_FILE, c->data_text},
                 {TUTTI_COSTS_FILE, c->costs_text}};
    for (int s = TUTTI_CHECKPOINT_WEIGHTS; s < c->nstates && !st; s++) {
        const tutti_checkpoint_vector v = tutti_checkpoint_vector_of(c, s);
        st = write_tensors(folder, c, &v, &m.files[m.nfiles++], err);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !st; i++)
        if (texts[i].text) {
            snprintf(m.files[m.nfiles].name, sizeof m.files[m.nfiles].name, "%s", texts[i].name);
            st = write_file(folder, texts[i].text, strlen(texts[i].text), &c->headway, &m.files[m.nfiles++], err);
        }
    for (int i = 0; i < nfiles; i++) m.files[m.nfiles++] = files[i];
    return st ? st : write_manifest(folder, &m, err);
}

/* ---- the folder with all checkpoints ---- */

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

/* Renames a checkpoint before removing it, so that a half-removed one is never taken for a torn one. */
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

static tutti_status remove_beyond(const char *dir, int keep, const tutti_headway *headway, tutti_failure *err)
{
    tutti_checkpoint_entry *entries;
    int n;
    tutti_status st = tutti_checkpoint_list(dir, &entries, &n, err);
    for (int i = keep < 1 ? 1 : keep; i < n && !st; i++) {
        (void)tutti_headway_tell(headway, 0, 0);
        st = remove_one(entries[i].path, err);
    }
    tutti_checkpoint_list_release(entries, n);
    return st;
}

/* Removes the folders step_*.tmp that a killed run left behind. */
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

/* A checkpoint of this step may exist already: a good one with the same weights is kept, any other is removed. */
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

/* The paths of a checkpoint; the caller frees all three. */
typedef struct {
    char *folder, *final, *temporary;
} places;

static places places_of(const char *dir, const tutti_checkpoint *c)
{
    places p = {.folder = tutti_checkpoint_path("%s/checkpoints", dir)};
    p.final = tutti_checkpoint_path("%s/step_%09" PRId64, p.folder, c->step);
    p.temporary = tutti_checkpoint_path("%s.tmp", p.final);
    return p;
}

static tutti_status leave(places *p, const tutti_checkpoint *c, tutti_status st, tutti_failure *err)
{
    free(p->folder), free(p->final), free(p->temporary);
    return st ? tutti_fail_at(err, "checkpoint of step %" PRId64, c->step) : TUTTI_OK;
}

tutti_status tutti_checkpoint_prepare(const char *dir, const tutti_checkpoint *c, tutti_failure *err)
{
    places p = places_of(dir, c);
    tutti_status st = tutti_file_make_dir_in_place(p.folder, err);
    if (!st) st = remove_stale(p.folder, err);
    if (!st) st = tutti_file_make_dir_in_place(p.temporary, err);
    return leave(&p, c, st, err);
}

tutti_status tutti_checkpoint_write_own(const char *dir, const tutti_checkpoint *c, tutti_checkpoint_file *files,
                                        tutti_failure *err)
{
    places p = places_of(dir, c);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < c->nown && !st; i++) {
        const tutti_checkpoint_vector v = tutti_checkpoint_own_of(c, i);
        st = write_tensors(p.temporary, c, &v, &files[i], err);
    }
    return leave(&p, c, st, err);
}

tutti_status tutti_checkpoint_write(const char *dir, const tutti_checkpoint *c, const tutti_checkpoint_file *files,
                                    int nfiles, int keep, tutti_failure *err)
{
    places p = places_of(dir, c);
    tutti_status st = nfiles ? TUTTI_OK : tutti_checkpoint_prepare(dir, c, err);
    if (!st) st = write_folder(p.temporary, c, files, nfiles, err);
    if (!st) st = put_in_place(p.temporary, p.final, c, err);
    if (!st) st = tutti_file_sync_dir(p.folder, err);
    if (!st) st = remove_beyond(dir, keep, &c->headway, err);
    return leave(&p, c, st, err);
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
