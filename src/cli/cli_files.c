/* SPDX-License-Identifier: Apache-2.0 */
/* cli_files.c: refuses flags that would write a file over one that is read (job/outputs.h). Files that a command reads
 * besides those on its command line are reported by the code that loads them: tutti_cli_check_read,
 * tutti_cli_check_job. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/text/strbuf.h"
#include "cli.h"

/* ---- files that flags name ---- */

enum { MOST_FLAGS = sizeof((tutti_flags *)NULL)->count / sizeof(int) };
typedef struct {
    int n;
    tutti_output at[MOST_FLAGS + 1]; /* one entry for each flag, and one for the file that is read */
    char what[MOST_FLAGS][32];
} flag_files;

static void list_outputs(const tutti_flags *f, unsigned but, flag_files *l)
{
    l->n = 0;
    for (int i = 0; i < f->nflags; i++) {
        const unsigned is = f->flags[i].is;
        if (!(is & TUTTI_FLAG_WRITES) || (is & but) || !f->count[i]) continue;
        snprintf(l->what[l->n], sizeof l->what[l->n], "--%s", f->flags[i].name);
        l->at[l->n] = (tutti_output){l->what[l->n], f->value[i][0], true, is & TUTTI_FLAG_RUN};
        l->n++;
    }
}

tutti_status tutti_cli_check_read(const tutti_flags *f, const char *what, const char *path, bool of_run,
                                  tutti_failure *err)
{
    flag_files l;
    if (!f || !path || !path[0]) return TUTTI_OK;
    list_outputs(f, of_run ? 0 : TUTTI_FLAG_RUN, &l);
    const tutti_output read = {what, path, false, false};
    for (int i = 0; i < l.n; i++)
        if (l.at[i].path && l.at[i].path[0] && tutti_outputs_meet(&l.at[i], &read, err)) return TUTTI_ERR_USAGE;
    return TUTTI_OK;
}

/* For "A=FILE", "set=S,path=DIR", "FILE,FILE": each part that exists counts as a file that is read. */
static tutti_status check_words(const tutti_flags *f, const char *what, const char *value, tutti_failure *err)
{
    tutti_status st = access(value, F_OK) ? TUTTI_OK : tutti_cli_check_read(f, what, value, false, err);
    for (const char *at = value; *at && !st;) {
        char part[PATH_MAX];
        const size_t n = strcspn(at, ",");
        const char *equals = memchr(at, '=', n), *from = equals ? equals + 1 : at;
        const size_t length = n - (size_t)(from - at);
        if (length && length < sizeof part && length < strlen(value)) {
            memcpy(part, from, length);
            part[length] = '\0';
            if (!access(part, F_OK)) st = tutti_cli_check_read(f, what, part, false, err);
        }
        at += n + (at[n] == ',');
    }
    return st;
}

/* Checks the programs and libraries that TUTTI_SIMGRID and TUTTI_UCX_LIBRARY name. The file of
 * tutti_topology_tuned_path is checked by the commands that read it. */
static tutti_status check_environment(const tutti_flags *f, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (char **at = environ; *at && !st; at++) {
        const char *equals = strchr(*at, '=');
        char name[64];
        if (!equals || strncmp(*at, "TUTTI_", 6) || !strncmp(*at, "TUTTI_TOPOLOGY=", 15)) continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - *at), *at);
        if (equals[1] && !access(equals + 1, F_OK)) st = tutti_cli_check_read(f, name, equals + 1, false, err);
    }
    return st;
}

tutti_status tutti_cli_check_flags(const tutti_flags *f, tutti_failure *err)
{
    flag_files l;
    list_outputs(f, 0, &l);
    tutti_status st = tutti_outputs_check(l.at, l.n, err);
    for (int i = 0; i < f->nflags && !st; i++) {
        char what[32];
        if (f->flags[i].is & TUTTI_FLAG_WRITES) continue;
        snprintf(what, sizeof what, "--%s", f->flags[i].name);
        for (int j = 0; j < f->count[i] && !st; j++) {
            const char *value = f->value[i][j];
            if (f->flags[i].is & TUTTI_FLAG_READS && !value[0])
                st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: a name is missing", what);
            /* the value of --init may lie in the folder that this run writes: a run may begin at its own weights, and
             * checks them itself */
            if (!st && f->flags[i].is & TUTTI_FLAG_READS)
                st = tutti_cli_check_read(f, what, value, strcmp(f->flags[i].name, "init") != 0, err);
            if (!st) st = check_words(f, what, value, err);
        }
    }
    for (int i = 0; i < f->nrest && l.n && !st; i++) st = tutti_cli_check_read(f, "the input", f->rest[i], false, err);
    return st || !l.n ? st : check_environment(f, err);
}

tutti_status tutti_cli_try_flags(const tutti_flags *f, tutti_failure *err)
{
    flag_files l;
    list_outputs(f, TUTTI_FLAG_FOLDER, &l);
    return tutti_outputs_try(l.at, l.n, err);
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
    return tutti_fail(err, TUTTI_ERR_USAGE, "--out %s: is there and is not a folder", dir);
}
