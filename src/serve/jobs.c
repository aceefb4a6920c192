/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c: takes wishes of clients about jobs, and knows paths, numbers and news of their runs. */
#include "jobs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "jobs_impl.h"
#include "run_numbers.h"

/* A file of a run is read in parts, so that no answer holds up the others for long: 4 MiB take 0.06 to 0.3 s. */
enum { MOST_NOTES = 64, BYTES_ONCE = 4 << 20 };

tutti_status tutti_jobs_open(const tutti_jobs_options *options, tutti_jobs **out, tutti_failure *err)
{
    void *engine;
    tutti_status st = options->engine->open(&options->engine_options, &engine, err);
    if (st) return st;
    tutti_jobs *j = tutti_alloc(sizeof *j);
    *j = (tutti_jobs){.options = *options, .engine = engine, .news = tutti_alloc(sizeof *j->news * TUTTI_NEWS)};
    *out = j;
    return TUTTI_OK;
}

void tutti_jobs_close(tutti_jobs *j)
{
    if (!j) return;
    for (int i = 0; i < j->nnotes; i++) tutti_series_close(j->notes[i].series);
    j->options.engine->close(j->engine);
    free(j->notes);
    free(j->news);
    free(j);
}

/* ---- paths ---- */

static char *path_of(const tutti_jobs *j, int64_t job, const char *more, int number)
{
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/%lld%s", j->options.folder, (long long)job, more);
    if (number) tutti_strbuf_printf(&path, "%d", number);
    return tutti_strbuf_detach(&path);
}

char *tutti_jobs_folder(const tutti_jobs *j, int64_t job)
{
    return path_of(j, job, "", 0);
}

char *tutti_jobs_run_folder(const tutti_jobs *j, int64_t job)
{
    return path_of(j, job, "/run", 0);
}

char *tutti_jobs_attempt_folder(const tutti_jobs *j, int64_t job, int number)
{
    return path_of(j, job, "/attempt-", number);
}

void tutti_jobs_attempt(const tutti_jobs *j, const tutti_stored_job *job, tutti_attempt *a)
{
    *a = (tutti_attempt){
        .job = job->id,
        .number = job->attempt,
        .folder = tutti_jobs_attempt_folder(j, job->id, job->attempt),
        .is_train = !strcmp(job->kind, "train"),
        .handle = job->handle,
    };
}

/* ---- notes ---- */

void tutti_jobs_forget(tutti_jobs *j, int64_t job)
{
    for (int i = 0; i < j->nnotes; i++) {
        if (j->notes[i].job != job) continue;
        tutti_series_close(j->notes[i].series);
        j->notes[i] = j->notes[--j->nnotes];
        return;
    }
}

tutti_job_note *tutti_jobs_note(tutti_jobs *j, int64_t job)
{
    const double now = tutti_clock_s();
    int oldest = 0;
    for (int i = 0; i < j->nnotes; i++) {
        if (j->notes[i].job == job) {
            j->notes[i].used = now;
            return &j->notes[i];
        }
        if (j->notes[i].used < j->notes[oldest].used) oldest = i;
    }
    /* a live job's note is wanted at each tick: what nobody has wanted for a minute is of a job that has ended */
    if (j->nnotes >= MOST_NOTES && now > j->notes[oldest].used + 60) tutti_jobs_forget(j, j->notes[oldest].job);
    j->notes = tutti_grow(j->notes, j->nnotes, &j->capacity, sizeof *j->notes);
    j->notes[j->nnotes] = (tutti_job_note){.job = job, .used = now};
    return &j->notes[j->nnotes++];
}

void tutti_jobs_refresh(tutti_jobs *j, tutti_job_note *note, size_t max_bytes)
{
    if (!note->series) {
        char *path = path_of(j, note->job, "/run/metrics.jsonl", 0);
        note->series = tutti_series_open(path);
        note->nbytes = 0;
        free(path);
    }
    (void)tutti_series_refresh(note->series, max_bytes, &note->has_more,
                               NULL); /* a file that cannot be read: no news */
    const uint64_t nbytes = tutti_series_bytes(note->series);
    j->bytes_read += nbytes >= note->nbytes ? nbytes - note->nbytes : nbytes;
    note->nbytes = nbytes;
}

tutti_series *tutti_jobs_series(tutti_jobs *j, int64_t job)
{
    tutti_job_note *note = tutti_jobs_note(j, job);
    tutti_jobs_refresh(j, note, BYTES_ONCE);
    return note->series;
}

void tutti_jobs_numbers(tutti_jobs *j, const tutti_stored_job *job, tutti_series_summary *out)
{
    if (strcmp(job->kind, "train") || !job->is_live) {
        tutti_run_numbers_read(job->numbers, out);
        return;
    }
    tutti_job_note *note = tutti_jobs_note(j, job->id);
    if (note->series)
        tutti_series_summarise(note->series, out);
    else
        tutti_run_numbers_read(job->numbers, out);
}

tutti_liveness tutti_jobs_liveness(tutti_jobs *j, const tutti_stored_job *job)
{
    return job->is_live && job->attempt ? tutti_jobs_note(j, job->id)->liveness : TUTTI_LIVENESS_NONE;
}

/* ---- news ---- */

void tutti_jobs_tell_progress(tutti_jobs *j, tutti_job_note *note, const tutti_stored_job *job,
                              const tutti_series_summary *s)
{
    const double now = tutti_clock_s();
    if (s->nlines == note->nlines_told || now < note->told + 1) return;
    note->nlines_told = s->nlines;
    note->told = now;
    tutti_strbuf text = {0};
    tutti_json out = {.out = &text};
    tutti_json_open(&out, NULL, '{');
    tutti_json_int(&out, "job", job->id);
    tutti_json_int(&out, "step", s->step);
    tutti_json_real(&out, "loss", s->loss);
    tutti_json_real(&out, "ips", s->ips);
    tutti_json_text(&out, "state", job->state);
    tutti_json_close(&out, '}');
    snprintf(j->news[++j->last_news % TUTTI_NEWS], TUTTI_NEWS_BYTES, "%s", text.text);
    tutti_strbuf_release(&text);
}

const char *tutti_jobs_news(const tutti_jobs *j, int64_t n)
{
    return n < 1 || n > j->last_news || n <= j->last_news - TUTTI_NEWS ? NULL : j->news[n % TUTTI_NEWS];
}

int64_t tutti_jobs_last_news(const tutti_jobs *j)
{
    return j->last_news;
}

uint64_t tutti_jobs_bytes_read(const tutti_jobs *j)
{
    return j->bytes_read;
}

/* ---- wishes ---- */

tutti_status tutti_jobs_submit(tutti_jobs *j, const tutti_job_spec *spec, const char *key, int64_t *id, bool *is_new,
                               tutti_failure *err)
{
    tutti_strbuf text = {0};
    tutti_job_spec_print(spec, &text);
    const tutti_stored_job job = {
        .key = key,
        .name = spec->name,
        .kind = tutti_job_spec_kind(spec),
        .spec = text.text,
        .priority = spec->priority,
        .created = tutti_clock_wall_s(),
    };
    tutti_status st = tutti_store_add(j->options.store, &job, id, is_new, err);
    tutti_strbuf_release(&text);
    return st;
}

static tutti_status refuse(const tutti_stored_job *job, const char *what, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE, "job %lld is %s, and %s", (long long)job->id, job->state, what);
}

tutti_status tutti_jobs_stop(tutti_jobs *j, const tutti_stored_job *job, bool is_now, tutti_failure *err)
{
    if (!job->is_live) return refuse(job, "only a job that has not ended can be stopped", err);
    return tutti_store_ask_stop(j->options.store, job->id, is_now ? 2 : 1, err);
}

tutti_status tutti_jobs_resume(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err)
{
    if (job->is_live) return refuse(job, "only a job that has ended can be resumed", err);
    if (!strcmp(job->state, "done") && strcmp(job->kind, "train"))
        return refuse(job, "a command that has succeeded is not run again", err);
    return tutti_store_requeue(j->options.store, job->id, tutti_clock_wall_s(), err);
}

tutti_status tutti_jobs_report(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err)
{
    if (strcmp(job->kind, "train")) return refuse(job, "only a job of the kind \"train\" can report", err);
    if (strcmp(job->state, "running") && strcmp(job->state, "recovering"))
        return refuse(job, "only a run that takes steps can report", err);
    tutti_attempt a;
    tutti_jobs_attempt(j, job, &a);
    tutti_status st = j->options.engine->signal(j->engine, &a, SIGQUIT, err);
    free((char *)(uintptr_t)a.folder);
    return st;
}

tutti_status tutti_jobs_remove(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err)
{
    if (job->is_live) return refuse(job, "only a job that has ended can be removed: stop it first", err);
    return tutti_store_mark_gone(j->options.store, job->id, err);
}
