/* SPDX-License-Identifier: Apache-2.0 */
/* idx_find.c: finds the files of an IDX set by their names, as MNIST's mirrors and torchvision have them.
 *
 * The files lie in the folder PATH, PATH/raw, PATH/gzip, or PATH/NAME/raw (torchvision's root). A file has the name
 * [PREFIX-]SPLIT-WHAT-idxN-ubyte[.gz], with '.' instead of '-' before "idx", or lies in a folder of that name. SPLIT is
 * train, t10k or test. If one folder has several prefixes (EMNIST has six), they are several sets: PATH/PREFIX then
 * chooses one. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/file.h"
#include "idx_find.h"

/* Returns the length of the prefix, "-" not counted, of an IDX file's name; -1: the name has another form. */
static int prefix_of(const char *name, const char *split, const char *what)
{
    for (const char *at = strstr(name, split); at; at = strstr(at + 1, split)) {
        const char *rest = at + strlen(split);
        if ((at > name && at[-1] != '-') || *rest++ != '-' || strncmp(rest, what, strlen(what)) != 0) continue;
        rest += strlen(what);
        if ((*rest != '-' && *rest != '.') || strncmp(rest + 1, "idx", 3) != 0 || !isdigit((unsigned char)rest[4]))
            continue;
        rest += 5;
        if (!strcmp(rest, "-ubyte") || !strcmp(rest, "-ubyte.gz")) return at > name ? (int)(at - name) - 1 : 0;
    }
    return -1;
}

static bool is_packed(const char *name)
{
    const size_t n = strlen(name);
    return n > 3 && !strcmp(name + n - 3, ".gz");
}

/* Number of characters that are put in front of each name in a list of IDX files, so that sorting the list gives the
 * order of preference: names without a prefix first, then unpacked files before packed ones, then the order of the
 * names' bytes. */
enum { SIGNS = 2 };
static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_files(const char *folder, const char *split, const char *what, tutti_names *out)
{
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        const int length = prefix_of(e->d_name, split, what);
        tutti_strbuf signed_name = {0};
        tutti_strbuf_printf(&signed_name, "%d%d%s", length > 0, is_packed(e->d_name), e->d_name);
        if (length >= 0) tutti_names_add(out, signed_name.text);
        tutti_strbuf_release(&signed_name);
    }
    closedir(dir);
    if (out->n) qsort(out->name, (size_t)out->n, sizeof *out->name, by_bytes);
}

typedef struct {
    /* folder: where to look; prefix: the only prefix that a file's name may have, NULL = any */
    const char *folder, *prefix;
    const char *split, *what;
} wish;

static bool has_prefix(const char *name, int length, const char *prefix)
{
    return strlen(prefix) == (size_t)length && !strncmp(name, prefix, (size_t)length);
}

/* Returns the index of the wanted file. -1: there is none; or there are several sets, and then the failure is set. */
static int64_t choose(const wish *w, const tutti_names *files, tutti_failure *err)
{
    const int first = files->n ? prefix_of(files->name[0] + SIGNS, w->split, w->what) : 0;
    for (int64_t i = 0; i < files->n; i++) {
        const char *name = files->name[i] + SIGNS;
        const int length = prefix_of(name, w->split, w->what);
        if (w->prefix && has_prefix(name, length, w->prefix)) return i;
        if (!w->prefix && first > 0 && (length != first || strncmp(name, files->name[0] + SIGNS, (size_t)first) != 0)) {
            tutti_fail(err, TUTTI_ERR_DATA,
                       "%s: files of several sets, '%.*s' and '%.*s' among them: say which, as in path: %s/%.*s",
                       w->folder, first, files->name[0] + SIGNS, length, name, w->folder, length, name);
            return -1;
        }
    }
    return files->n && !w->prefix ? 0 : -1;
}

static char *find_in(const wish *w, tutti_failure *err)
{
    tutti_names files = {0};
    tutti_strbuf path = {0};
    list_files(w->folder, w->split, w->what, &files);
    const int64_t i = choose(w, &files, err);
    if (i >= 0) {
        tutti_strbuf_printf(&path, "%s/%s", w->folder, files.name[i] + SIGNS);
        tutti_strbuf inner = {0};
        tutti_strbuf_printf(&inner, "%s/%s", path.text, files.name[i] + SIGNS);
        if (!access(inner.text, F_OK)) tutti_strbuf_printf(&path, "/%s", files.name[i] + SIGNS);
        tutti_strbuf_release(&inner);
    }
    tutti_names_release(&files);
    return path.length ? tutti_strbuf_detach(&path) : NULL;
}

/* Lists PATH, PATH/raw, PATH/gzip and each existing PATH/NAME/raw; returns the number of places before the first
 * PATH/NAME/raw. */
static int64_t list_places(const char *path, tutti_names *out)
{
    static const char *const inner[] = {"raw", "gzip"};
    tutti_names found = {0};
    DIR *dir = opendir(path);
    tutti_names_add(out, path);
    for (int i = 0; i < 2; i++) {
        tutti_strbuf place = {0};
        tutti_strbuf_printf(&place, "%s/%s", path, inner[i]);
        if (tutti_file_is_folder(place.text)) tutti_names_add(out, place.text);
        tutti_strbuf_release(&place);
    }
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        tutti_strbuf place = {0};
        tutti_strbuf_printf(&place, "%s/%s/raw", path, e->d_name);
        if (e->d_name[0] != '.' && tutti_file_is_folder(place.text)) tutti_names_add(&found, place.text);
        tutti_strbuf_release(&place);
    }
    if (dir) closedir(dir);
    const int64_t nown = out->n;
    if (found.n) qsort(found.name, (size_t)found.n, sizeof *found.name, by_bytes);
    for (int64_t i = 0; i < found.n; i++) tutti_names_add(out, found.name[i]);
    tutti_names_release(&found);
    return nown;
}

/* Returns the path of the file in the first place that has it. If several PATH/NAME/raw have it, it is not clear which
 * one is meant, and none is taken. */
static char *find_below(const char *path, const char *split, const char *what, tutti_failure *err)
{
    tutti_names places = {0};
    char *file = NULL;
    const int64_t nown = list_places(path, &places);
    for (int64_t i = 0; i < places.n && !err->text[0] && !(file && i <= nown); i++) {
        char *other = find_in(&(wish){places.name[i], NULL, split, what}, err);
        if (!file) {
            file = other;
            continue;
        }
        if (other) tutti_fail(err, TUTTI_ERR_DATA, "%s and %s: say which, by the folder that it is in", file, other);
        free(other);
    }
    tutti_names_release(&places);
    if (err->text[0]) free(file);
    return err->text[0] ? NULL : file;
}

char *tutti_idx_find(const char *path, const char *split, const char *what, tutti_failure *err)
{
    static const char *const tests[] = {"t10k", "test"};
    const bool is_test = strcmp(split, "train") != 0, is_folder = tutti_file_is_folder(path);
    const char *slash = strrchr(path, '/');
    char *folder = tutti_file_folder(path), *file = NULL;
    tutti_failure why = {0};
    for (int i = 0; i < (is_test ? 2 : 1) && !file && !why.text[0]; i++) {
        const char *called = is_test ? tests[i] : split;
        file = is_folder ? find_below(path, called, what, &why)
                         : find_in(&(wish){folder, slash ? slash + 1 : path, called, what}, &why);
    }
    free(folder);
    if (file) return file;
    if (why.text[0])
        tutti_fail(err, why.status, "%s", why.text);
    else
        tutti_fail(
            err, TUTTI_ERR_DATA,
            "%s: no file %s-%s-idx%d-ubyte in it (nor with .gz, with '.idx', with a name such as 'mnist-' in front, "
            "in raw/ or in NAME/raw/)",
            path, split, what, strcmp(what, "labels") ? 3 : 1);
    return NULL;
}
