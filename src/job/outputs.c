/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c: refuses outputs that would overwrite inputs. Files are compared by device and inode number, so that links,
 * other spellings of a path and an appended standard output are recognised. */
#include "outputs.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/file.h"

/* ---- one file ---- */

static bool ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    return n >= m && !strcmp(text + n - m, ending);
}

/* Returns the part of path behind folder/; NULL: path is not below it. Both must come from tutti_file_resolve. */
static const char *below(const char *path, const char *folder)
{
    const size_t n = strcmp(folder, "/") ? strlen(folder) : 0;
    return !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* False for pipes and devices, which may be named more than once: /dev/null, /dev/stdout. */
bool tutti_outputs_same(const char *a, const char *b)
{
    struct stat info[2];
    const bool there[2] = {!stat(a, &info[0]), !stat(b, &info[1])};
    if (there[0] && there[1])
        return S_ISREG(info[0].st_mode) && info[0].st_dev == info[1].st_dev && info[0].st_ino == info[1].st_ino;
    char *place[2] = {tutti_file_resolve(a), tutti_file_resolve(b)};
    const bool one = place[0] && place[1] && !strcmp(place[0], place[1]);
    free(place[0]);
    free(place[1]);
    return one;
}

/* ---- files of a folder ---- */

enum {
    DEEPEST = 3
}; /* levels of folders that are searched, as in RUN/checkpoints/step_N/FILE,
                       * DATA/train/CLASS/FILE */

/* True if a hard or symbolic link below the folder leads to this file, whose own path is elsewhere. If the file has
 * only one name, only symbolic links can lead to it, and only they are checked. counts: which names in the folder
 * itself count; NULL: all. */
static bool links_to(const char *folder, bool (*counts)(const char *name), const struct stat *file, int depth)
{
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        struct stat info;
        char path[PATH_MAX];
        if (entry->d_name[0] == '.' && (!entry->d_name[1] || !strcmp(entry->d_name, ".."))) continue;
        if ((counts && !counts(entry->d_name)) || (file->st_nlink == 1 && entry->d_type == DT_REG)) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path || stat(path, &info))
            continue;
        found = S_ISDIR(info.st_mode) ? depth < DEEPEST && links_to(path, NULL, file, depth + 1)
                                      : info.st_dev == file->st_dev && info.st_ino == file->st_ino;
    }
    if (dir) closedir(dir);
    return found;
}

/* True if a run keeps a file of this name in its folder. Outputs may have other names there, such as report.svg or the
 * file of --record. */
static bool keeps(const char *name)
{
    static const char *const kept[] = {"job.yaml",   "lock",       "metrics.jsonl", "trace.json",
                                       "layers.txt", "plan.proof", "checkpoints"};
    static const char events[] = "events.out.tfevents.";
    const size_t n = strcspn(name, "/");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strlen(kept[i]) == n && !strncmp(name, kept[i], n)) return true;
    return !strncmp(name, events, sizeof events - 1);
}

/* True if the run with this folder keeps this file; the folder may not exist yet. */
static bool is_of_run(const char *run, const char *path)
{
    struct stat info;
    char *folder = tutti_file_resolve(run), *place = tutti_file_resolve(path);
    const char *inside = folder && place ? below(place, folder) : NULL;
    bool is = inside && keeps(inside);
    if (!is && folder && !stat(path, &info) && S_ISREG(info.st_mode)) is = links_to(folder, keeps, &info, 1);
    free(folder);
    free(place);
    return is;
}

/* True if a file has an ending that data sets read. */
static bool is_named_as_data(const char *path)
{
    static const char *const endings[] = {"ubyte", ".gz",  ".bin", ".png", ".jpg",   ".jpeg",     ".ppm",        ".pgm",
                                          ".pnm",  ".bmp", ".npy", ".csv", ".names", ".meta.txt", ".safetensors"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(path, endings[i])) return true;
    return false;
}

/* True if the folder protects the file. all: it protects every file in it. Otherwise (a folder of data) new files may
 * be made in it; existing files are protected if they look like data, or if a link leads to them. */
static bool is_of_folder(const char *folder, bool all, const char *path)
{
    struct stat info, link;
    char *whole = tutti_file_resolve(folder), *place = tutti_file_resolve(path);
    const bool inside = whole && place && below(place, whole), there = !stat(path, &info) && S_ISREG(info.st_mode);
    bool is = inside && (all || (there && (is_named_as_data(place) || (!lstat(path, &link) && S_ISLNK(link.st_mode)))));
    if (!is && !inside && there) is = links_to(folder, NULL, &info, 1);
    free(whole);
    free(place);
    return is;
}

static bool has(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && !access(path, F_OK);
}

/* True if writing `out` would destroy something that is read: a file, a run, a checkpoint or a folder of data. */
static bool would_replace(const char *out, const char *read)
{
    if (!tutti_file_is_folder(read)) return tutti_outputs_same(out, read);
    if (has(read, "MANIFEST.json")) return is_of_folder(read, true, out);
    if (has(read, "checkpoints") || has(read, "metrics.jsonl")) return is_of_run(read, out);
    return is_of_folder(read, false, out);
}

/* ---- all files ---- */

static bool do_meet(const tutti_output *out, const tutti_output *other)
{
    if (out->is_run) return !tutti_file_is_folder(other->path) && is_of_run(out->path, other->path);
    if (!other->written) return would_replace(out->path, other->path);
    return tutti_outputs_same(out->path, other->path) || (other->is_run && is_of_run(other->path, out->path));
}

static tutti_status refuse(const tutti_output *out, const tutti_output *other, tutti_failure *err)
{
    if (!other->written)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s would be written over %s%s (%s): give the output another name",
                          out->path, out->what, tutti_file_is_folder(other->path) ? "what belongs to " : "",
                          other->what, other->path);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s and %s would be written there: give each a name of its own",
                      out->is_run ? other->path : out->path, out->what, other->what);
}

tutti_status tutti_outputs_meet(const tutti_output *out, const tutti_output *other, tutti_failure *err)
{
    return do_meet(out, other) ? refuse(out, other, err) : TUTTI_OK;
}

tutti_status tutti_outputs_check(const tutti_output *files, int n, tutti_failure *err)
{
    for (int i = 0; i < n; i++)
        if (files[i].written && files[i].path && !files[i].path[0])
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: a name is missing", files[i].what);
    for (int i = 0; i < n; i++)
        for (int j = 0; files[i].written && files[i].path && j < n; j++)
            if (j != i && files[j].path && files[j].path[0] && do_meet(&files[i], &files[j]))
                return refuse(&files[i < j || !files[j].written ? i : j], &files[i < j || !files[j].written ? j : i],
                              err);
    return TUTTI_OK;
}

/* True if the path will be in a folder of a run that the command makes. */
static bool will_have_place(const tutti_output *files, int n, const char *path)
{
    bool will = false;
    char *place = tutti_file_resolve(path);
    for (int i = 0; i < n && place && !will; i++) {
        char *run = files[i].is_run && files[i].path ? tutti_file_resolve(files[i].path) : NULL;
        const char *name = run && !tutti_file_is_folder(run) ? below(place, run) : NULL;
        will = name && !strchr(name, '/');
        free(run);
    }
    free(place);
    return will;
}

tutti_status tutti_outputs_try(const tutti_output *files, int n, tutti_failure *err)
{
    for (int i = 0; i < n; i++) {
        const tutti_output *out = &files[i];
        /* "-" means standard output */
        if (!out->written || out->is_run || !out->path || !strcmp(out->path, "-")) continue;
        if (will_have_place(files, n, out->path)) continue;
        if (tutti_file_try_to_write(out->path, err)) {
            tutti_fail_at(err, "%s", out->what);
            return err->status = TUTTI_ERR_USAGE;
        }
    }
    return TUTTI_OK;
}
