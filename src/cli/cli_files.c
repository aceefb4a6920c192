/* SPDX-License-Identifier: Apache-2.0 */
/* cli_files.c: what a command reads and what it writes must be different files. Looked at before anything is opened: an output that is
 * also an input would be gone, at the latest when the command fails. Files are told apart by device and number, so links, other
 * spellings of a path and an appended standard output are seen through. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/file.h"
#include "../base/strbuf.h"
#include "cli.h"

/* Whether both names will be one file, of which there is none yet: one name in one folder. */
static bool will_be_one(const char *a, const char *b)
{
    char *in[2] = {tutti_file_folder(a), tutti_file_folder(b)};
    const char *slash[2] = {strrchr(a, '/'), strrchr(b, '/')};
    struct stat folder[2];
    const bool one = !strcmp(slash[0] ? slash[0] + 1 : a, slash[1] ? slash[1] + 1 : b) && !stat(in[0], &folder[0]) &&
                     !stat(in[1], &folder[1]) && folder[0].st_dev == folder[1].st_dev &&
                     folder[0].st_ino == folder[1].st_ino;
    free(in[0]);
    free(in[1]);
    return one;
}

/* Pipes and devices may be named more than once: /dev/null, /dev/stdout. */
bool tutti_cli_same_file(const char *a, const char *b)
{
    struct stat info[2];
    if (stat(a, &info[0]) || stat(b, &info[1])) return will_be_one(a, b);
    return S_ISREG(info[0].st_mode) && info[0].st_dev == info[1].st_dev && info[0].st_ino == info[1].st_ino;
}

tutti_status tutti_cli_check_files(const tutti_cli_file *files, int n, tutti_failure *err)
{
    for (int i = 0; i < n; i++) {
        const tutti_cli_file *out = &files[i];
        if (!out->written || !out->path) continue;
        if (!out->path[0]) return tutti_fail(err, TUTTI_ERR_USAGE, "%s: a name is missing", out->what);
        for (int j = 0; j < n; j++) {
            const tutti_cli_file *other = &files[j];
            if (j == i || !other->path || !other->path[0] || !tutti_cli_same_file(out->path, other->path)) continue;
            if (other->written)
                return tutti_fail(err, TUTTI_ERR_USAGE,
                                  "%s: %s and %s would be written there: give each a name of its own", out->path,
                                  i < j ? out->what : other->what, i < j ? other->what : out->what);
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "%s: %s would be written over %s (%s): give the output another name", out->path,
                              out->what, other->what, other->path);
        }
    }
    return TUTTI_OK;
}

tutti_status tutti_cli_check_flags(const tutti_flags *f, const char *read, tutti_failure *err)
{
    enum { MOST = sizeof f->count / sizeof *f->count + 1 };
    char what[MOST][32];
    tutti_cli_file files[MOST];
    int n = 0;
    files[n++] = (tutti_cli_file){"the input", read, false};
    for (int i = 0; i < f->nflags; i++) {
        if (!(f->flags[i].is & (TUTTI_FLAG_READS | TUTTI_FLAG_WRITES)) || !f->count[i]) continue;
        snprintf(what[n], sizeof what[n], "--%s", f->flags[i].name);
        files[n] = (tutti_cli_file){what[n], f->value[i][0], f->flags[i].is & TUTTI_FLAG_WRITES};
        n++;
    }
    return tutti_cli_check_files(files, n, err);
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
