/* SPDX-License-Identifier: Apache-2.0 */
/* init_source.c: opens a source of weights: a safetensors file, an index, or a checkpoint of another run. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../../base/arena.h"
#include "../../../base/file.h"
#include "../../../base/host/memory.h"
#include "init_impl.h"
#include "safetensors_index.h"

static const size_t MAX_FILE_BYTES = (size_t)1 << 40;
enum { MAX_INDEX_BYTES = 1 << 26 };

/* Takes ownership of bytes. index: NULL = all tensors of the file are taken. */
static tutti_status add_file(tutti_init_source *s, const char *name, char *bytes, size_t nbytes,
                             const tutti_safetensors_index *index, tutti_failure *err)
{
    const int f = s->nfiles++;
    s->bytes = tutti_realloc(s->bytes, sizeof *s->bytes * (size_t)s->nfiles);
    s->files = tutti_realloc(s->files, sizeof *s->files * (size_t)s->nfiles);
    s->bytes[f] = bytes;
    s->files[f] = NULL;
    tutti_status st = tutti_safetensors_parse_foreign(name, bytes, nbytes, &s->files[f], err);
    if (st) return st;
    const int n = tutti_safetensors_count(s->files[f]);
    const char *slash = strrchr(name, '/'), *own = slash ? slash + 1 : name;
    s->tensors = tutti_realloc(s->tensors, sizeof *s->tensors * (size_t)(s->ntensors + n + 1));
    for (int i = 0; i < n; i++) {
        const char *tensor = tutti_safetensors_at(s->files[f], i)->name;
        const char *file = index ? tutti_safetensors_index_find(index, tensor) : own;
        if (file && !strcmp(file, own))
            s->tensors[s->ntensors++] = (tutti_init_tensor){tensor, s->files[f], i};
        else
            s->nunlisted++;
    }
    return TUTTI_OK;
}

static tutti_status read_whole(const char *path, tutti_status refused, tutti_init_source *s,
                               const tutti_safetensors_index *index, tutti_failure *err)
{
    struct stat info;
    char *bytes;
    size_t nbytes;
    const int64_t size = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (int64_t)info.st_size : 0;
    tutti_status st = tutti_memory_check(size, path, "read it on a host with more memory", err);
    const tutti_file_wish wish = {path, MAX_FILE_BYTES, refused, s->headway};
    if (!st) st = tutti_init_check_form(path, err);
    if (!st) st = tutti_file_read_told(&wish, &bytes, &nbytes, err);
    return st ? st : add_file(s, path, bytes, nbytes, index, err);
}

tutti_status tutti_init_source_read(const char *path, tutti_init_source *out, tutti_failure *err)
{
    return read_whole(path, TUTTI_ERR_USAGE, out, NULL, err);
}

/* Checks that every tensor of the index was found; the files may hold the tensors in any order. */
static tutti_status check_all_found(const char *path, const tutti_safetensors_index *x, const tutti_init_source *s,
                                    tutti_failure *err)
{
    const char *file;
    if (s->ntensors == tutti_safetensors_index_count(x)) return TUTTI_OK;
    for (int i = 0; i < tutti_safetensors_index_count(x); i++) {
        const char *name = tutti_safetensors_index_tensor(x, i, &file);
        bool found = false;
        for (int t = 0; t < s->ntensors && !found; t++) found = !strcmp(s->tensors[t].name, name);
        if (!found)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: says that '%s' is in %s, which has no such tensor", path, name,
                              file);
    }
    return TUTTI_OK;
}

tutti_status tutti_init_source_read_index(const char *path, tutti_init_source *out, tutti_failure *err)
{
    char *text, *folder = tutti_file_folder(path);
    size_t nbytes;
    tutti_safetensors_index *x = NULL;
    tutti_status st = tutti_file_read(path, MAX_INDEX_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (!st) {
        st = tutti_safetensors_index_parse(path, text, nbytes, &x, err);
        free(text);
    }
    for (int f = 0; !st && tutti_safetensors_index_file(x, f); f++) {
        char *file = tutti_checkpoint_path("%s/%s", folder, tutti_safetensors_index_file(x, f));
        st = read_whole(file, TUTTI_ERR_DATA, out, x, err);
        if (st) tutti_fail_at(err, "%s", path);
        free(file);
    }
    if (!st) st = check_all_found(path, x, out, err);
    tutti_safetensors_index_destroy(x);
    free(folder);
    return st;
}

tutti_status tutti_init_source_read_checkpoint(const char *path, const char *name, tutti_init_source *out,
                                               tutti_failure *err)
{
    char *bytes, *file = tutti_checkpoint_path("%s/%s", path, name);
    size_t nbytes;
    tutti_status st = tutti_checkpoint_read_file(path, name, out->headway, &bytes, &nbytes, err);
    if (!st) st = add_file(out, file, bytes, nbytes, NULL, err);
    free(file);
    return st;
}

void tutti_init_source_release(tutti_init_source *s)
{
    for (int f = 0; f < s->nfiles; f++) {
        tutti_safetensors_destroy(s->files[f]);
        free(s->bytes[f]);
    }
    free(s->files);
    free(s->bytes);
    free(s->tensors);
    *s = (tutti_init_source){0};
}
