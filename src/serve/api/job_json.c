/* SPDX-License-Identifier: Apache-2.0 */
/* job_json.c: writes jobs as JSON: what the list shows of each, and all that is known of one. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../job_server.h"
#include "../run_numbers.h"

/* Writes a time; 0 = not yet. */
static void write_time(tutti_json *j, const char *key, double at)
{
    if (at > 0)
        tutti_json_real(j, key, at);
    else
        tutti_json_text(j, key, NULL);
}

static void write_code(tutti_json *j, bool has_code, int code)
{
    if (has_code)
        tutti_json_int(j, "code", code);
    else
        tutti_json_text(j, "code", NULL);
}

/* The number of steps that a job asks for; 0 = it asks for epochs. The resolved job has each key in a line. */
static int64_t steps_of(const tutti_job_spec *spec)
{
    for (const char *line = spec->job; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, "steps: ", 7)) return strtoll(line + 7, NULL, 10);
    }
    return 0;
}

static void write_members(tutti_job_server *s, const tutti_stored_job *job, const tutti_job_spec *spec, tutti_json *j)
{
    tutti_series_summary numbers;
    const int64_t steps = steps_of(spec);
    char *folder = spec->is_train ? tutti_jobs_run_folder(s->jobs, job->id) : tutti_jobs_folder(s->jobs, job->id);
    tutti_json_int(j, "id", job->id);
    tutti_json_text(j, "name", job->name);
    tutti_json_text(j, "kind", job->kind);
    tutti_json_text(j, "state", job->state);
    tutti_json_int(j, "priority", job->priority);
    tutti_json_open(j, "ranks", '{');
    tutti_json_int(j, "min", spec->least);
    tutti_json_int(j, "max", spec->most);
    tutti_json_close(j, '}');
    tutti_json_int(j, "threads", spec->threads);
    write_time(j, "created", job->created);
    write_time(j, "started", job->started);
    write_time(j, "ended", job->ended);
    tutti_json_int(j, "attempt", job->attempt);
    write_code(j, job->has_code, job->code);
    tutti_json_text(j, "cause", job->cause);
    if (steps > 0)
        tutti_json_int(j, "steps", steps);
    else
        tutti_json_text(j, "steps", NULL);
    tutti_jobs_numbers(s->jobs, job, &numbers);
    tutti_run_numbers_write(&numbers, j);
    tutti_json_text(j, "liveness", tutti_liveness_word(tutti_jobs_liveness(s->jobs, job)));
    tutti_json_bool(j, "stopping", job->is_live && job->stops > 0);
    tutti_json_text(j, "folder", folder);
    free(folder);
}

void tutti_job_write(tutti_job_server *s, const tutti_stored_job *job, const char *key, tutti_json *j)
{
    tutti_arena arena = {0};
    tutti_job_spec spec = {.name = "", .least = 1, .most = 1, .threads = 1};
    (void)tutti_job_spec_read(job->spec, strlen(job->spec), &arena, &spec, NULL); /* it was read when it was stored */
    tutti_json_open(j, key, '{');
    write_members(s, job, &spec, j);
    tutti_json_close(j, '}');
    tutti_arena_release(&arena);
}

/* ---- all that is known of one ---- */

static tutti_status write_attempts(tutti_job_server *s, const tutti_stored_job *job, tutti_arena *arena, tutti_json *j,
                                   tutti_failure *err)
{
    tutti_stored_attempt *attempts;
    int n;
    tutti_status st = tutti_store_attempts(s->store, job->id, arena, &attempts, &n, err);
    if (st) return st;
    tutti_json_open(j, "attempts", '[');
    for (int i = 0; i < n; i++) {
        tutti_json_open(j, NULL, '{');
        tutti_json_int(j, "number", attempts[i].number);
        write_time(j, "started", attempts[i].started);
        write_time(j, "ended", attempts[i].ended);
        write_code(j, attempts[i].has_code, attempts[i].code);
        tutti_json_text(j, "cause", attempts[i].cause);
        tutti_json_text(j, "engine", attempts[i].engine);
        tutti_json_text(j, "handle", attempts[i].handle);
        tutti_json_close(j, '}');
    }
    tutti_json_close(j, ']');
    return TUTTI_OK;
}

/* Sums up the files of a checkpoint. */
static double bytes_in(const char *folder)
{
    double sum = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct stat of;
        if (fstatat(dirfd(d), e->d_name, &of, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(of.st_mode))
            sum += (double)of.st_size;
    }
    if (d) closedir(d);
    return sum;
}

static int is_checkpoint(const struct dirent *e)
{
    return !strncmp(e->d_name, "step_", 5) && strspn(e->d_name + 5, "0123456789") == strlen(e->d_name + 5);
}

static void write_checkpoints(const char *run, tutti_json *j)
{
    tutti_strbuf folder = {0};
    struct dirent **list;
    tutti_strbuf_printf(&folder, "%s/checkpoints", run);
    const size_t stem = folder.length;
    const int n = scandir(folder.text, &list, is_checkpoint, alphasort);
    tutti_json_open(j, "checkpoints", '[');
    for (int i = 0; i < n; i++) {
        struct stat of;
        folder.length = stem;
        tutti_strbuf_printf(&folder, "/%s", list[i]->d_name);
        if (stat(folder.text, &of) == 0) {
            tutti_json_open(j, NULL, '{');
            tutti_json_int(j, "step", strtoll(list[i]->d_name + 5, NULL, 10));
            tutti_json_int(j, "bytes", (int64_t)bytes_in(folder.text));
            tutti_json_int(j, "at", of.st_mtime);
            tutti_json_close(j, '}');
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    tutti_json_close(j, ']');
    tutti_strbuf_release(&folder);
}

static void write_spec(const tutti_job_spec *spec, tutti_json *j)
{
    tutti_json_int(j, "max_restarts", spec->max_restarts);
    if (spec->is_train) {
        tutti_json_text(j, "argv", NULL);
        tutti_json_text(j, "job", spec->job);
        return;
    }
    tutti_json_open(j, "argv", '[');
    for (int i = 0; i < spec->nargv; i++) tutti_json_text(j, NULL, spec->argv[i]);
    tutti_json_close(j, ']');
    tutti_json_text(j, "working_folder", spec->folder);
    tutti_json_text(j, "job", NULL);
}

tutti_status tutti_job_write_whole(tutti_job_server *s, const tutti_stored_job *job, tutti_json *j, tutti_failure *err)
{
    tutti_arena arena = {0};
    tutti_job_spec spec;
    char *run = tutti_jobs_run_folder(s->jobs, job->id);
    tutti_status st = tutti_job_spec_read(job->spec, strlen(job->spec), &arena, &spec, err);
    if (!st) {
        tutti_json_open(j, NULL, '{');
        write_members(s, job, &spec, j);
        st = write_attempts(s, job, &arena, j, err);
    }
    if (!st) {
        const tutti_series *series = tutti_jobs_series(s->jobs, job->id);
        write_checkpoints(run, j);
        tutti_series_write_restarts(series, j);
        tutti_series_write_cost(series, j);
        tutti_series_write_tags(series, j);
        write_spec(&spec, j);
        tutti_json_close(j, '}');
    }
    free(run);
    tutti_arena_release(&arena);
    return st;
}
