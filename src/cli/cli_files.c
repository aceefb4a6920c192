/* SPDX-License-Identifier: Apache-2.0 */
/* cli_files.c: what a command reads and what it writes must be different files, and what it writes must have a place. Both are looked at
 * before the work begins: an output that is also an input would be gone, and one without a place would be told of after minutes. Files are
 * told apart by device and number, so links, other spellings of a path and an appended standard output are seen through. What a
 * command reads besides its words is told by what loads it: tutti_cli_check_read, tutti_cli_check_job. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/file.h"
#include "../base/text/strbuf.h"
#include "cli.h"

/* ---- one file ---- */

static bool ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    return n >= m && !strcmp(text + n - m, ending);
}

/* The part of path behind folder/; NULL: path is not below. Both are as tutti_file_resolve makes them. */
static const char *below(const char *path, const char *folder)
{
    const size_t n = strcmp(folder, "/") ? strlen(folder) : 0;
    return !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : NULL;
}

/* Pipes and devices may be named more than once: /dev/null, /dev/stdout. */
bool tutti_cli_same_file(const char *a, const char *b)
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

enum { DEEPEST = 3 }; /* RUN/checkpoints/step_N/FILE, DATA/train/CLASS/FILE */

/* Whether a file below the folder is this one: by a link of either kind, for its path is not there. Where the file has one name, only
 * symbolic links can lead to it, and only they are looked at. counts: which names of the folder itself do; NULL: all. */
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

/* Whether a run keeps a file of this name. Other names in its folder are free for outputs: report.svg, an order of visits. */
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

/* Whether the run that has this folder, or will make it, keeps this file. */
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

/* Whether a file ends as those that sets of data read. */
static bool is_named_as_data(const char *path)
{
    static const char *const endings[] = {"ubyte", ".gz",  ".bin", ".png", ".jpg",   ".jpeg",     ".ppm",        ".pgm",
                                          ".pnm",  ".bmp", ".npy", ".csv", ".names", ".meta.txt", ".safetensors"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(path, endings[i])) return true;
    return false;
}

/* In a folder of data new files are made as anywhere; those that are there are kept if they look as data do, or if a link leads to them. */
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

/* Whether what is written to out takes from what is read there: a file, a run, a checkpoint or a folder of data. */
static bool would_replace(const char *out, const char *read)
{
    if (!tutti_file_is_folder(read)) return tutti_cli_same_file(out, read);
    if (has(read, "MANIFEST.json")) return is_of_folder(read, true, out);
    if (has(read, "checkpoints") || has(read, "metrics.jsonl")) return is_of_run(read, out);
    return is_of_folder(read, false, out);
}

/* ---- all files ---- */

static bool do_meet(const tutti_cli_file *out, const tutti_cli_file *other)
{
    if (out->is_run) return !tutti_file_is_folder(other->path) && is_of_run(out->path, other->path);
    if (!other->written) return would_replace(out->path, other->path);
    return tutti_cli_same_file(out->path, other->path) || (other->is_run && is_of_run(other->path, out->path));
}

static tutti_status refuse(const tutti_cli_file *out, const tutti_cli_file *other, tutti_failure *err)
{
    if (!other->written)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s would be written over %s%s (%s): give the output another name",
                          out->path, out->what, tutti_file_is_folder(other->path) ? "what belongs to " : "",
                          other->what, other->path);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s and %s would be written there: give each a name of its own",
                      out->is_run ? other->path : out->path, out->what, other->what);
}

tutti_status tutti_cli_check_files(const tutti_cli_file *files, int n, tutti_failure *err)
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

/* Whether the path will be in a folder of a run that the command makes. */
static bool will_have_place(const tutti_cli_file *files, int n, const char *path)
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

tutti_status tutti_cli_try_files(const tutti_cli_file *files, int n, tutti_failure *err)
{
    for (int i = 0; i < n; i++) {
        const tutti_cli_file *out = &files[i];
        if (!out->written || out->is_run || !out->path || !strcmp(out->path, "-")) continue; /* "-": printed */
        if (will_have_place(files, n, out->path)) continue;
        if (tutti_file_try_to_write(out->path, err)) {
            tutti_fail_at(err, "%s", out->what);
            return err->status = TUTTI_ERR_USAGE;
        }
    }
    return TUTTI_OK;
}

/* ---- files of flags ---- */

enum { MOST_FLAGS = sizeof((tutti_flags *)NULL)->count / sizeof(int) };
typedef struct {
    int n;
    tutti_cli_file at[MOST_FLAGS + 1]; /* room for one that is read */
    char what[MOST_FLAGS][32];
} flag_files;

static void list_outputs(const tutti_flags *f, unsigned but, flag_files *l)
{
    l->n = 0;
    for (int i = 0; i < f->nflags; i++) {
        const unsigned is = f->flags[i].is;
        if (!(is & TUTTI_FLAG_WRITES) || (is & but) || !f->count[i]) continue;
        snprintf(l->what[l->n], sizeof l->what[l->n], "--%s", f->flags[i].name);
        l->at[l->n] = (tutti_cli_file){l->what[l->n], f->value[i][0], true, is & TUTTI_FLAG_RUN};
        l->n++;
    }
}

static tutti_status check_read(const tutti_flags *f, const char *what, const char *path, bool of_run,
                               tutti_failure *err)
{
    flag_files l;
    if (!f || !path || !path[0]) return TUTTI_OK;
    list_outputs(f, of_run ? 0 : TUTTI_FLAG_RUN, &l);
    const tutti_cli_file read = {what, path, false, false};
    for (int i = 0; i < l.n; i++)
        if (l.at[i].path && l.at[i].path[0] && do_meet(&l.at[i], &read)) return refuse(&l.at[i], &read, err);
    return TUTTI_OK;
}

tutti_status tutti_cli_check_read(const tutti_flags *f, const char *what, const char *path, tutti_failure *err)
{
    return check_read(f, what, path, false, err);
}

tutti_status tutti_cli_check_kept(const tutti_flags *f, const char *what, const char *path, tutti_failure *err)
{
    return check_read(f, what, path, true, err);
}

/* "A=FILE", "set=S,path=DIR", "FILE,FILE": each part that is there is taken for a file that is read. */
static tutti_status check_words(const tutti_flags *f, const char *what, const char *value, tutti_failure *err)
{
    tutti_status st = access(value, F_OK) ? TUTTI_OK : check_read(f, what, value, false, err);
    for (const char *at = value; *at && !st;) {
        char part[PATH_MAX];
        const size_t n = strcspn(at, ",");
        const char *equals = memchr(at, '=', n), *from = equals ? equals + 1 : at;
        const size_t length = n - (size_t)(from - at);
        if (length && length < sizeof part && length < strlen(value)) {
            memcpy(part, from, length);
            part[length] = '\0';
            if (!access(part, F_OK)) st = check_read(f, what, part, false, err);
        }
        at += n + (at[n] == ',');
    }
    return st;
}

/* TUTTI_SIMGRID, TUTTI_UCX_LIBRARY: programs and libraries. What tutti_topology_tuned_path names is of those that read it. */
static tutti_status check_environment(const tutti_flags *f, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (char **at = environ; *at && !st; at++) {
        const char *equals = strchr(*at, '=');
        char name[64];
        if (!equals || strncmp(*at, "TUTTI_", 6) || !strncmp(*at, "TUTTI_TOPOLOGY=", 15)) continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - *at), *at);
        if (equals[1] && !access(equals + 1, F_OK)) st = check_read(f, name, equals + 1, false, err);
    }
    return st;
}

tutti_status tutti_cli_check_flags(const tutti_flags *f, tutti_failure *err)
{
    flag_files l;
    list_outputs(f, 0, &l);
    tutti_status st = tutti_cli_check_files(l.at, l.n, err);
    for (int i = 0; i < f->nflags && !st; i++) {
        char what[32];
        if (f->flags[i].is & TUTTI_FLAG_WRITES) continue;
        snprintf(what, sizeof what, "--%s", f->flags[i].name);
        for (int j = 0; j < f->count[i] && !st; j++) {
            const char *value = f->value[i][j];
            if (f->flags[i].is & TUTTI_FLAG_READS && !value[0])
                st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: a name is missing", what);
            /* a run may begin at weights of its own folder: it looks at that itself */
            if (!st && f->flags[i].is & TUTTI_FLAG_READS)
                st = check_read(f, what, value, strcmp(f->flags[i].name, "init") != 0, err);
            if (!st) st = check_words(f, what, value, err);
        }
    }
    for (int i = 0; i < f->nrest && l.n && !st; i++) st = check_read(f, "the input", f->rest[i], false, err);
    return st || !l.n ? st : check_environment(f, err);
}

tutti_status tutti_cli_try_flags(const tutti_flags *f, tutti_failure *err)
{
    flag_files l;
    list_outputs(f, TUTTI_FLAG_FOLDER, &l);
    return tutti_cli_try_files(l.at, l.n, err);
}

char *tutti_cli_run_folder(const char *job, const char *suffix)
{
    tutti_strbuf dir = {0};
    const char *name = strrchr(job, '/') ? strrchr(job, '/') + 1 : job, *dot = strrchr(name, '.');
    tutti_strbuf_printf(&dir, "runs/%.*s%s", dot && dot != name ? (int)(dot - name) : (int)strlen(name), name, suffix);
    return tutti_strbuf_detach(&dir);
}

tutti_status tutti_cli_check_out_folder(const char *dir, tutti_failure *err)
{
    struct stat info;
    if (stat(dir, &info) || S_ISDIR(info.st_mode)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "--out %s: is there and is no folder", dir);
}
