/* SPDX-License-Identifier: Apache-2.0 */
/* image_folder.c: lists the pictures of a folder, in an order that does not depend on the file system. */
#include "image_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../picture/image.h"

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- which files are pictures ---- */

static const char *ending_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot : "";
}

static bool is_among(const char *ending, const char *const list[], int n)
{
    for (int i = 0; i < n; i++)
        if (!strcasecmp(ending, list[i])) return true;
    return false;
}

static bool is_picture(const char *name)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png"};
    return is_among(ending_of(name), endings, 3);
}

/* True for the endings that torchvision accepts besides .jpg, .jpeg and .png. For these the file's content decides
 * whether it is a picture, as in Pillow. */
static bool may_hold_picture(const char *name)
{
    static const char *const endings[] = {".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};
    return is_among(ending_of(name), endings, 6);
}

static bool is_of_a_converter(const char *name)
{
    static const char *const endings[] = {".gif", ".jfif", ".jpe", ".heic", ".heif", ".avif", ".jxl", ".jp2", ".svg"};
    return may_hold_picture(name) || is_among(ending_of(name), endings, 9);
}

static bool holds_picture(const char *path)
{
    uint8_t head[8];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);
    if (fd >= 0) close(fd);
    return n > 0 && tutti_image_is_known(head, (size_t)n);
}

/* ---- files that are left out ---- */

static void leave_out(tutti_left_out *l, const char *name, const char *words)
{
    char ending[TUTTI_LEFT_OUT_ENDING];
    const char *own = ending_of(name);
    snprintf(ending, sizeof ending, "%s", words ? words : *own ? own : "no ending");
    for (char *c = ending; *c && !words; c++) *c = (char)tolower((unsigned char)*c);
    int k = 0;
    while (k < l->nkinds && strcmp(l->kind[k].ending, ending) != 0) k++;
    if (k == TUTTI_LEFT_OUT_KINDS) snprintf(l->kind[--k].ending, sizeof ending, "others");
    if (k == l->nkinds) memcpy(l->kind[l->nkinds++].ending, ending, sizeof ending);
    l->kind[k].n++;
    l->n++;
    l->npicture += !words && is_of_a_converter(name);
}

void tutti_left_out_say(const tutti_left_out *l, tutti_strbuf *out)
{
    if (!l->n) {
        tutti_strbuf_puts(out, "no file left out");
        return;
    }
    tutti_strbuf_printf(out, "%lld file%s left out (", (long long)l->n, l->n == 1 ? "" : "s");
    for (int k = 0; k < l->nkinds; k++)
        tutti_strbuf_printf(out, "%s%s %lld", k ? ", " : "", l->kind[k].ending, (long long)l->kind[k].n);
    tutti_strbuf_puts(out, ")");
    if (l->npicture) tutti_strbuf_puts(out, ": convert pictures to JPEG or PNG, as 'mogrify -format png FILE..' does");
}

/* ---- walking through folders ---- */

/* A folder that the walk is in: the current one or one above it. The walk remembers it because a link may lead back to
 * it. */
typedef struct place {
    const struct place *above;
    dev_t device;
    ino_t number;
} place;

static bool is_above(const place *p, const struct stat *info)
{
    for (; p; p = p->above)
        if (p->device == info->st_dev && p->number == info->st_ino) return true;
    return false;
}

static void join(tutti_strbuf *path, size_t length, const char *name)
{
    path->length = length;
    tutti_strbuf_printf(path, "%s%s", length && path->text[length - 1] == '/' ? "" : "/", name);
}

typedef struct {
    tutti_strbuf path; /* path of the folder, or of a file in it */
    size_t bare;       /* offset in `path` where the listed names begin */
    tutti_names *out;
    tutti_left_out *left;
} walking;

typedef enum { ENTRY_FILE, ENTRY_FOLDER, ENTRY_GONE, ENTRY_OTHER } entry_kind;

/* Returns the kind of a folder's entry. path: the entry's path, for a question to the file system, which is asked only
 * if the entry itself does not tell its kind. */
static entry_kind kind_of(const struct dirent *e, const char *path)
{
    struct stat info;
    if (e->d_type == DT_REG) return ENTRY_FILE;
    if (e->d_type == DT_DIR) return ENTRY_FOLDER;
    if (stat(path, &info)) return ENTRY_GONE;
    return S_ISDIR(info.st_mode) ? ENTRY_FOLDER : S_ISREG(info.st_mode) ? ENTRY_FILE : ENTRY_OTHER;
}

static void take_file(walking *w, const char *name)
{
    const bool foreign = !is_picture(name);
    if (foreign && !(may_hold_picture(name) && holds_picture(w->path.text))) {
        leave_out(w->left, name, NULL);
        return;
    }
    w->left->ntaken += foreign;
    tutti_names_add(w->out, w->path.text + w->bare);
}

/* Lists the entries of a folder. w->path holds the folder's path before and after the call. out NULL: files are only
 * counted. */
static tutti_status list_folder(walking *w, tutti_names *folders, tutti_failure *err)
{
    const size_t length = w->path.length;
    DIR *dir = opendir(w->path.text);
    if (!dir) return tutti_fail(err, TUTTI_ERR_DATA, "%s: %s", w->path.text, strerror(errno));
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (e->d_name[0] == '.') continue;
        join(&w->path, length, e->d_name);
        const entry_kind kind = kind_of(e, w->path.text);
        if (kind == ENTRY_FOLDER)
            tutti_names_add(folders, e->d_name);
        else if (kind != ENTRY_FILE)
            leave_out(w->left, e->d_name, kind == ENTRY_GONE ? "broken link" : "no file");
        else if (w->out)
            take_file(w, e->d_name);
        else
            leave_out(w->left, e->d_name, "in no class");
    }
    closedir(dir);
    join(&w->path, length, "");
    w->path.text[w->path.length = length] = '\0';
    if (folders->n) qsort(folders->name, (size_t)folders->n, sizeof *folders->name, compare);
    return TUTTI_OK;
}

static tutti_status walk(walking *w, const place *above, tutti_failure *err)
{
    struct stat info;
    tutti_names folders = {0};
    const size_t length = w->path.length;
    if (stat(w->path.text, &info)) return tutti_fail(err, TUTTI_ERR_DATA, "%s: %s", w->path.text, strerror(errno));
    if (is_above(above, &info)) return TUTTI_OK;
    const place here = {above, info.st_dev, info.st_ino};
    tutti_status st = list_folder(w, &folders, err);
    for (int64_t i = 0; i < folders.n && !st; i++) {
        join(&w->path, length, folders.name[i]);
        st = walk(w, &here, err);
    }
    w->path.text[w->path.length = length] = '\0';
    tutti_names_release(&folders);
    return st;
}

/* Sorts by folder, then by name, each by bytes: like os.walk with folders and files sorted. */
static int by_folder(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b, *ends[2] = {strrchr(x, '/'), strrchr(y, '/')};
    const size_t n = ends[0] ? (size_t)(ends[0] - x) : 0, m = ends[1] ? (size_t)(ends[1] - y) : 0;
    const int order = memcmp(x, y, n < m ? n : m);
    if (order) return order;
    return n != m ? (n > m) - (n < m) : strcmp(x + n, y + m);
}

tutti_status tutti_image_folder_walk(const char *path, bool bare, tutti_names *out, tutti_left_out *left,
                                     tutti_failure *err)
{
    const int64_t before = out->n;
    walking w = {.out = out, .left = left};
    tutti_strbuf_puts(&w.path, path);
    w.bare = bare ? w.path.length + 1 : 0;
    tutti_status st = walk(&w, NULL, err);
    if (out->n > before) qsort(out->name + before, (size_t)(out->n - before), sizeof *out->name, by_folder);
    tutti_strbuf_release(&w.path);
    return st;
}

/* Lists the folders in a folder, sorted. Files in it are counted as left out. */
static tutti_status read_classes(const char *path, tutti_names *out, tutti_left_out *left, tutti_failure *err)
{
    walking w = {.left = left};
    tutti_strbuf_puts(&w.path, path);
    tutti_status st = list_folder(&w, out, err);
    tutti_strbuf_release(&w.path);
    return st;
}

/* ---- the folder of a set ---- */

/* Returns PATH/train, or, for a test set, PATH/test or PATH/val; the caller frees it. */
static tutti_status top_find(const char *path, bool train, char **out, tutti_failure *err)
{
    static const char *const names[] = {"train", "test", "val"};
    for (int i = train ? 0 : 1; i < (train ? 1 : 3); i++) {
        char *top = tutti_file_in(path, names[i]);
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

static void left_out_add(tutti_left_out *sum, const tutti_left_out *l)
{
    for (int k = 0; k < l->nkinds; k++) {
        int at = 0;
        while (at < sum->nkinds && strcmp(sum->kind[at].ending, l->kind[k].ending) != 0) at++;
        if (at == TUTTI_LEFT_OUT_KINDS) snprintf(sum->kind[--at].ending, TUTTI_LEFT_OUT_ENDING, "others");
        if (at == sum->nkinds) memcpy(sum->kind[sum->nkinds++].ending, l->kind[k].ending, TUTTI_LEFT_OUT_ENDING);
        sum->kind[at].n += l->kind[k].n;
    }
    sum->n += l->n;
    sum->npicture += l->npicture;
    sum->ntaken += l->ntaken;
}

static tutti_status class_add(tutti_image_folder *f, int32_t label, tutti_failure *err)
{
    tutti_names pictures = {0};
    char *path = tutti_file_in(f->top, f->classes[label]);
    tutti_left_out left = {0};
    tutti_strbuf words = {0};
    tutti_status st = tutti_image_folder_walk(path, true, &pictures, &left, err);
    tutti_left_out_say(&left, &words);
    if (!st && !pictures.n)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no .jpg, .jpeg or .png file in it: a class needs one; %s", path,
                        words.text);
    left_out_add(&f->left, &left);
    tutti_strbuf_release(&words);
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

/* Adds the classes. A test set has folders for classes of train only; it need not have a folder for each class. */
static tutti_status classes_add(tutti_image_folder *f, tutti_failure *err)
{
    tutti_names found = {0};
    tutti_status st = read_classes(f->top, &found, &f->left, err);
    f->nfound = (int)found.n;
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
    tutti_left_out counted_again = {0};
    tutti_status st = top_find(path, true, &f->top, err);
    if (!st) st = read_classes(f->top, &classes, &counted_again, err);
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
    tutti_left_out left = {0};
    tutti_status st = top_find(path, true, &top, err);
    if (!st) st = read_classes(top, out, &left, err);
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

/* Memory for a file's bytes; it grows as needed. */
typedef struct {
    uint8_t **bytes;
    size_t *room, *nbytes;
} buffer;

static tutti_status descriptor_read(int fd, const char *path, int64_t most, buffer to, tutti_failure *err)
{
    struct stat st;
    if (fstat(fd, &st)) return tutti_fail(err, TUTTI_ERR_DATA, "%s: %s", path, strerror(errno));
    if (st.st_size > most)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: %lld bytes; at most %lld", path, (long long)st.st_size,
                          (long long)most);
    if ((size_t)st.st_size > *to.room) {
        free(*to.bytes);
        *to.bytes = tutti_alloc((size_t)st.st_size);
        *to.room = (size_t)st.st_size;
    }
    for (*to.nbytes = 0; *to.nbytes < (size_t)st.st_size;) {
        const ssize_t got = read(fd, *to.bytes + *to.nbytes, (size_t)st.st_size - *to.nbytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte %zu: %s", path, *to.nbytes, strerror(errno));
        if (got == 0) break;
        *to.nbytes += (size_t)got;
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
    st = descriptor_read(fd, path, most, (buffer){bytes, room, nbytes}, err);
    close(fd);
    return st;
}
