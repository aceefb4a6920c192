/* SPDX-License-Identifier: Apache-2.0 */
/* image_folder.c: finds the pictures of a folder, in an order that does not depend on the file system. */
#include "image_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/file.h"

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_picture(const char *name)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    const size_t n = strlen(name);
    for (int i = 0; i < 3; i++) {
        const size_t m = strlen(endings[i]);
        if (n > m && !strcasecmp(name + n - m, endings[i])) return true;
    }
    return false;
}

tutti_status tutti_image_names_read(const char *path, bool folders, tutti_names *out, tutti_failure *err)
{
    DIR *dir = opendir(path);
    if (!dir) return tutti_fail(err, TUTTI_ERR_DATA, "%s: %s", path, strerror(errno));
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (e->d_name[0] == '.') continue;
        tutti_strbuf whole = {0};
        tutti_strbuf_printf(&whole, "%s/%s", path, e->d_name);
        const bool wanted = folders ? tutti_file_is_folder(whole.text) : is_picture(e->d_name);
        tutti_strbuf_release(&whole);
        if (wanted) tutti_names_add(out, e->d_name);
    }
    closedir(dir);
    if (out->n) qsort(out->name, (size_t)out->n, sizeof *out->name, compare);
    return TUTTI_OK;
}

static char *path_join(const char *a, const char *b)
{
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/%s", a, b);
    return tutti_strbuf_detach(&path);
}

/* PATH/train, or PATH/test or PATH/val; to be freed. */
static tutti_status top_find(const char *path, bool train, char **out, tutti_failure *err)
{
    static const char *const names[] = {"train", "test", "val"};
    for (int i = train ? 0 : 1; i < (train ? 1 : 3); i++) {
        char *top = path_join(path, names[i]);
        if (tutti_file_is_folder(top)) {
            *out = top;
            return TUTTI_OK;
        }
        free(top);
    }
    return tutti_fail(
        err, TUTTI_ERR_DATA,
        train ? "%s: no folder 'train' in it: put the folders of the classes into %s/train, and those of the "
                "test pictures into %s/test or %s/val"
              : "%s: no folder 'test' or 'val' in it: put test pictures into %s/test, one folder a class, as "
                "in %s/train",
        path, path, path, path);
}

static void picture_add(tutti_image_folder *f, const char *name, int32_t label)
{
    if (f->nfiles == f->room) {
        f->room = f->room ? f->room * 2 : 1024;
        f->name_at = tutti_realloc(f->name_at, sizeof *f->name_at * (size_t)f->room);
        f->labels = tutti_realloc(f->labels, sizeof *f->labels * (size_t)f->room);
    }
    f->name_at[f->nfiles] = (int64_t)f->names.length;
    f->labels[f->nfiles++] = label;
    tutti_strbuf_add(&f->names, name, strlen(name) + 1);
}

static tutti_status class_add(tutti_image_folder *f, int32_t label, tutti_failure *err)
{
    tutti_names pictures = {0};
    char *path = path_join(f->top, f->classes[label]);
    tutti_status st = tutti_image_names_read(path, false, &pictures, err);
    if (!st && !pictures.n)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no .jpg, .jpeg or .png file in it: a class needs one", path);
    for (int64_t i = 0; i < pictures.n && !st; i++) picture_add(f, pictures.name[i], label);
    tutti_names_release(&pictures);
    free(path);
    return st;
}

static int32_t class_find(const tutti_image_folder *f, const char *name)
{
    const char *const *at =
        f->nclasses ? bsearch(&name, f->classes, (size_t)f->nclasses, sizeof *f->classes, compare) : NULL;
    return at ? (int32_t)(at - (const char *const *)f->classes) : -1;
}

/* Of a test set, folders that train knows; it need not have all of them. */
static tutti_status classes_add(tutti_image_folder *f, tutti_failure *err)
{
    tutti_names found = {0};
    tutti_status st = tutti_image_names_read(f->top, true, &found, err);
    for (int64_t i = 0; i < found.n && !st; i++) {
        const int32_t label = class_find(f, found.name[i]);
        st = label < 0 ? tutti_fail(err, TUTTI_ERR_DATA, "%s/%s: the training set has no class of this name", f->top,
                                    found.name[i])
                       : class_add(f, label, err);
    }
    tutti_names_release(&found);
    return st;
}

static tutti_status folder_fill(const char *path, bool train, tutti_image_folder *f, tutti_failure *err)
{
    tutti_names classes = {0};
    tutti_status st = top_find(path, true, &f->top, err);
    if (!st) st = tutti_image_names_read(f->top, true, &classes, err);
    f->classes = classes.name;
    f->nclasses = (int)classes.n;
    if (!st && !classes.n) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no folder in it: each class needs one", f->top);
    if (!st && !train) {
        char *top = NULL;
        st = top_find(path, false, &top, err);
        free(f->top);
        f->top = top;
    }
    if (!st) st = classes_add(f, err);
    if (!st && !f->nfiles) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no picture in it", f->top);
    return st;
}

tutti_status tutti_image_folder_classes(const char *path, tutti_names *out, tutti_failure *err)
{
    char *top = NULL;
    tutti_status st = top_find(path, true, &top, err);
    if (!st) st = tutti_image_names_read(top, true, out, err);
    free(top);
    return st;
}

tutti_status tutti_image_folder_open(const char *path, bool train, tutti_image_folder **out, tutti_failure *err)
{
    tutti_image_folder *f = tutti_alloc(sizeof *f);
    tutti_status st = folder_fill(path, train, f, err);
    if (st)
        tutti_image_folder_close(f);
    else
        *out = f;
    return st;
}

void tutti_image_folder_close(tutti_image_folder *f)
{
    if (!f) return;
    for (int i = 0; i < f->nclasses; i++) free(f->classes[i]);
    free(f->classes);
    free(f->top);
    free(f->name_at);
    free(f->labels);
    tutti_strbuf_release(&f->names);
    free(f);
}

void tutti_image_folder_path(const tutti_image_folder *f, int64_t picture, tutti_strbuf *path)
{
    path->length = 0;
    tutti_strbuf_printf(path, "%s/%s/%s", f->top, f->classes[f->labels[picture]], f->names.text + f->name_at[picture]);
}

static tutti_status descriptor_read(int fd, const char *path, int64_t most, uint8_t **bytes, size_t *room,
                                    size_t *nbytes, tutti_failure *err)
{
    struct stat st;
    if (fstat(fd, &st)) return tutti_fail(err, TUTTI_ERR_DATA, "%s: %s", path, strerror(errno));
    if (st.st_size > most)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: %lld bytes; at most %lld", path, (long long)st.st_size,
                          (long long)most);
    if ((size_t)st.st_size > *room) {
        free(*bytes);
        *bytes = tutti_alloc((size_t)st.st_size);
        *room = (size_t)st.st_size;
    }
    for (*nbytes = 0; *nbytes < (size_t)st.st_size;) {
        const ssize_t got = read(fd, *bytes + *nbytes, (size_t)st.st_size - *nbytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte %zu: %s", path, *nbytes, strerror(errno));
        if (got == 0) break;
        *nbytes += (size_t)got;
    }
    return TUTTI_OK;
}

tutti_status tutti_image_file_read(const char *path, int64_t most, uint8_t **bytes, size_t *room, size_t *nbytes,
                                   tutti_failure *err)
{
    int fd;
    tutti_status st = tutti_file_open(path, TUTTI_ERR_DATA, &fd, err);
    if (st) {
        tutti_fail_at(err, "%s", path);
        return st;
    }
    st = descriptor_read(fd, path, most, bytes, room, nbytes, err);
    close(fd);
    return st;
}
