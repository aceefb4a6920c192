/* SPDX-License-Identifier: Apache-2.0 */
/* jobs_tick.c: one look at all live jobs: which state each has now, what it is to be told, and which one starts next.
 *
 * Everything that is done here may be done again by the next server: an attempt is recorded before it is started, and
 * its folder lets it begin once (lease.h); a request to stop is sent until the attempt has noted it. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/file.h"
#include "../base/process.h"
#include "jobs_impl.h"
#include "run_numbers.h"

/* A keeper that does not come to its lease is started again after RESTART_S, MOST_STARTS times. Two SIGTERM are apart
 * by more than TUTTI_ONE_REQUEST_S, or they would be one request. */
static const double RESTART_S = 2, RESIGNAL_S = 1.5;
enum { MOST_STARTS = 3, LAST_WORDS = 160 };
/* A tick reads at most this number of bytes of a run's file: 2 MiB take 0.03 to 0.15 s. */
enum { BYTES_A_TICK = 2 << 20 };

/* ---- moving ---- */

static void note_words(const char *log, char words[LAST_WORDS])
{
    char bytes[2048];
    FILE *f = fopen(log, "re");
    size_t n = 0;
    *words = '\0';
    if (!f) return;
    if (fseek(f, -(long)(sizeof bytes - 1), SEEK_END)) rewind(f);
    n = fread(bytes, 1, sizeof bytes - 1, f);
    fclose(f);
    while (n && (unsigned char)bytes[n - 1] <= ' ') n--;
    bytes[n] = '\0';
    const char *line = strrchr(bytes, '\n');
    snprintf(words, LAST_WORDS, "%.*s", LAST_WORDS - 1, line ? line + 1 : bytes);
}

/* Writes how an attempt has failed, with the last line of its log: "ended with 3: job.yaml: line 4: ...". */
static void find_cause(const char *folder, int code, char *cause, size_t room)
{
    char words[TUTTI_PROCESS_WORDS], last[LAST_WORDS];
    const tutti_process p = {.pid = 1, .code = code, .signal = code > 128 && code < 128 + 65 ? code - 128 : 0};
    char *log = tutti_file_in(folder, "log");
    note_words(log, last);
    free(log);
    tutti_process_words(&p, words);
    snprintf(cause, room, "%s%s%s", words, *last ? ": " : "", last);
}

/* Moves a job to a state, if that is not its state already. */
static tutti_status move(tutti_jobs *j, const tutti_stored_job *job, tutti_store_change change, tutti_failure *err)
{
    bool changed;
    if (change.is_live && !strcmp(job->state, change.state)) return TUTTI_OK;
    change.job = job->id;
    if (strcmp(job->state, "queued")) change.attempt = job->attempt;
    if (change.at <= 0) change.at = tutti_clock_wall_s();
    return tutti_store_move(j->options.store, &change, &changed, err);
}

/* Moves a job to its end, with the last numbers of its run; later, if these are not read yet. */
static tutti_status end(tutti_jobs *j, const tutti_stored_job *job, tutti_store_change change, tutti_failure *err)
{
    tutti_strbuf numbers = {0};
    if (!strcmp(job->kind, "train") && job->attempt) {
        tutti_series_summary s;
        tutti_job_note *note = tutti_jobs_note(j, job->id);
        tutti_jobs_refresh(j, note, BYTES_A_TICK);
        if (note->has_more) return TUTTI_OK;
        tutti_series_summarise(note->series, &s);
        tutti_json out = {.out = &numbers};
        tutti_json_open(&out, NULL, '{');
        tutti_run_numbers_write(&s, &out);
        tutti_json_close(&out, '}');
        change.numbers = numbers.text;
    }
    tutti_jobs_note(j, job->id)->liveness = TUTTI_LIVENESS_NONE;
    tutti_status st = move(j, job, change, err);
    tutti_strbuf_release(&numbers);
    return st;
}

/* ---- starting ---- */

static tutti_status fail_attempt(tutti_jobs *j, const tutti_stored_job *job, const tutti_attempt *a, const char *cause,
                                 tutti_failure *err)
{
    bool revoked;
    tutti_status st = j->options.engine->revoke(j->engine, a, &revoked, err);
    if (st || !revoked) return st;
    return end(j, job, (tutti_store_change){.state = "failed", .cause = cause}, err);
}

static tutti_status write_text(const char *folder, const char *name, const char *text, tutti_failure *err)
{
    char *path = tutti_file_in(folder, name);
    const tutti_status st = tutti_file_write_atomic(path, text, strlen(text), err);
    free(path);
    return st;
}

/* Makes the job's folder, and its job.yaml and model.yaml from the store. */
static tutti_status make_folder(const char *folder, const tutti_job_spec *spec, tutti_failure *err)
{
    tutti_status st = tutti_file_make_dir_in_place(folder, err);
    if (!st && spec->model) st = write_text(folder, "model.yaml", spec->model, err);
    if (!st && spec->is_train) st = write_text(folder, "job.yaml", spec->job, err);
    return st;
}

static const char *number_text(tutti_arena *arena, const char *format, int a, int b)
{
    char text[64];
    snprintf(text, sizeof text, format, a, b);
    return tutti_arena_strdup(arena, text);
}

/* Lists the command of an attempt of kind train. */
static const char *const *train_argv(const tutti_jobs *j, const char *folder, const tutti_job_spec *spec,
                                     tutti_arena *arena)
{
    const char **argv = TUTTI_ARENA_NEW(arena, const char *, 12);
    tutti_strbuf file = {0}, run = {0};
    int n = 0;
    tutti_strbuf_printf(&file, "%s/job.yaml", folder);
    tutti_strbuf_printf(&run, "%s/run", folder);
    argv[n++] = j->options.engine_options.program;
    argv[n++] = "train";
    argv[n++] = tutti_arena_strdup(arena, file.text);
    argv[n++] = "--out";
    argv[n++] = tutti_arena_strdup(arena, run.text);
    argv[n++] = "--ranks";
    argv[n++] = number_text(arena, spec->most > spec->least ? "%d:%d" : "%d", spec->least, spec->most);
    if (spec->max_restarts) {
        argv[n++] = "--max-restarts";
        argv[n++] = number_text(arena, "%d", spec->max_restarts, 0);
    }
    tutti_strbuf_release(&file);
    tutti_strbuf_release(&run);
    return argv;
}

static tutti_status read_spec(tutti_jobs *j, int64_t job, tutti_arena *arena, tutti_job_spec *out, tutti_failure *err)
{
    tutti_stored_job whole;
    bool found;
    tutti_status st = tutti_store_get(j->options.store, job, arena, &whole, &found, err);
    if (!st && !found) st = tutti_fail(err, TUTTI_ERR_FAILED, "job %lld is gone", (long long)job);
    return st ? st : tutti_job_spec_read(whole.spec, strlen(whole.spec), arena, out, err);
}

/* Starts the attempt that the store has recorded, which has not begun. */
static tutti_status launch(tutti_jobs *j, const tutti_stored_job *job, tutti_attempt *a, tutti_failure *err)
{
    tutti_arena arena = {0};
    tutti_job_spec spec;
    tutti_strbuf handle = {0};
    char *folder = tutti_jobs_folder(j, job->id);
    tutti_job_note *note = tutti_jobs_note(j, job->id);
    note->nstarts++;
    note->started = tutti_clock_s();
    tutti_failure why = {0};
    tutti_status st = read_spec(j, job->id, &arena, &spec, &why);
    if (!st) st = make_folder(folder, &spec, &why);
    if (!st) {
        a->argv = spec.is_train ? train_argv(j, folder, &spec, &arena) : spec.argv;
        a->working = spec.is_train ? folder : spec.folder;
        a->least = spec.least, a->most = spec.most, a->threads = spec.threads;
        st = j->options.engine->start(j->engine, a, &handle, &why);
    }
    if (st)
        st = fail_attempt(j, job, a, why.text, err);
    else if (handle.length)
        st = tutti_store_keep_handle(j->options.store, job->id, job->attempt, handle.text, err);
    tutti_strbuf_release(&handle);
    tutti_arena_release(&arena);
    free(folder);
    return st;
}

/* ---- following ---- */

/* An attempt that was recorded and has not begun: it is started, or given up if somebody wants it stopped.
 * waits: it was started, and the engine lets it wait. */
static tutti_status follow_unborn(tutti_jobs *j, const tutti_stored_job *job, tutti_attempt *a, bool waits,
                                  tutti_failure *err)
{
    bool revoked;
    const tutti_job_note *note = tutti_jobs_note(j, job->id);
    if (job->stops) {
        tutti_status st = j->options.engine->revoke(j->engine, a, &revoked, err);
        if (st || !revoked) return st;
        return end(j, job, (tutti_store_change){.state = "stopped", .cause = "stopped before it began"}, err);
    }
    if (waits || (note->nstarts && tutti_clock_s() < note->started + RESTART_S)) return TUTTI_OK;
    if (note->nstarts >= MOST_STARTS)
        return fail_attempt(j, job, a, "its keeper does not come to begin it: is the disk full?", err);
    return launch(j, job, a, err);
}

/* stored: the state so far, which stays while the file of the run is not read to its end. */
static const char *state_of(const tutti_attempt *a, const tutti_attempt_view *v, const tutti_series_summary *s,
                            const char *stored)
{
    if (!a->is_train) return "running";
    if (stored) return stored;
    if (!(s->at >= v->at)) return "rendezvous"; /* NAN: no line at all */
    return s->is_recovering ? "recovering" : "running";
}

static tutti_status follow_alive(tutti_jobs *j, const tutti_stored_job *job, const tutti_attempt *a,
                                 const tutti_attempt_view *v, tutti_failure *err)
{
    tutti_job_note *note = tutti_jobs_note(j, job->id);
    tutti_series_summary s = tutti_series_none();
    if (a->is_train) {
        tutti_jobs_refresh(j, note, BYTES_A_TICK);
        tutti_series_summarise(note->series, &s);
        tutti_jobs_tell_progress(j, note, job, &s);
    }
    const tutti_monitor_times times = {.is_alive = true,
                                       .now = tutti_clock_wall_s(),
                                       .begun = v->at,
                                       .seen = v->seen,
                                       .line_at = s.at,
                                       .step_at = s.step_at,
                                       .step_gap = s.step_gap};
    note->liveness = tutti_monitor_judge(&times);
    const double now = tutti_clock_s();
    const bool is_known = strcmp(job->state, "placing") && strcmp(job->state, "unknown");
    const char *stored = note->has_more && is_known ? job->state : NULL;
    const bool stalls = note->liveness == TUTTI_LIVENESS_STALLED;
    if (stalls && !note->has_reported) (void)j->options.engine->signal(j->engine, a, SIGQUIT, NULL);
    note->has_reported = stalls;
    if (job->stops > v->nasked && (note->signalled <= 0 || now > note->signalled + RESIGNAL_S)) {
        (void)j->options.engine->signal(j->engine, a, SIGTERM, NULL); /* until the attempt has noted it */
        note->signalled = now;
    }
    return move(j, job, (tutti_store_change){.state = state_of(a, v, &s, stored), .is_live = true}, err);
}

static tutti_status follow_end(tutti_jobs *j, const tutti_stored_job *job, const tutti_attempt *a,
                               const tutti_attempt_view *v, tutti_failure *err)
{
    char cause[400] = "";
    tutti_store_change c = {.has_code = v->code >= 0, .code = v->code, .at = v->at, .cause = cause};
    if (v->state == TUTTI_ATTEMPT_LOST) {
        c = (tutti_store_change){.state = "lost", .cause = v->words};
    } else if (v->code < 0) { /* given up by a server that was killed before it could say so */
        c.state = job->stops ? "stopped" : "failed";
        c.cause = "given up before it began";
    } else if (v->code == 0 && (!job->stops || a->is_train)) {
        c.state = "done"; /* a run that was asked to stop ends with 0 only if it had reached its end */
        c.cause = NULL;
    } else if (job->stops) { /* the last line of its log is no cause */
        c.state = "stopped";
        c.cause = "stopped as it was asked to";
    } else {
        c.state = "failed";
        find_cause(a->folder, v->code, cause, sizeof cause);
    }
    return end(j, job, c, err);
}

static tutti_status follow(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err)
{
    tutti_attempt a;
    tutti_attempt_view v;
    tutti_job_note *note = tutti_jobs_note(j, job->id);
    if (note->attempt != job->attempt) {
        note->attempt = job->attempt;
        note->nstarts = 0;
        note->started = note->signalled = 0;
        note->has_reported = false;
    }
    tutti_jobs_attempt(j, job, &a);
    j->options.engine->poll(j->engine, &a, &v);
    tutti_status st = TUTTI_OK;
    switch (v.state) {
    case TUTTI_ATTEMPT_NEVER: st = follow_unborn(j, job, &a, false, err); break;
    case TUTTI_ATTEMPT_WAITING: st = follow_unborn(j, job, &a, true, err); break;
    case TUTTI_ATTEMPT_ALIVE: st = follow_alive(j, job, &a, &v, err); break;
    case TUTTI_ATTEMPT_ENDED:
    case TUTTI_ATTEMPT_LOST: st = follow_end(j, job, &a, &v, err); break;
    case TUTTI_ATTEMPT_UNKNOWN:
        st = move(j, job, (tutti_store_change){.state = "unknown", .is_live = true, .cause = v.words}, err);
    }
    free((char *)(uintptr_t)a.folder); /* safe cast: tutti_jobs_attempt has made it */
    return st;
}

/* ---- the queue ---- */

static tutti_status find_need(tutti_jobs *j, int64_t job, int *need, tutti_failure *err)
{
    tutti_arena arena = {0};
    tutti_job_spec spec;
    *need = tutti_jobs_note(j, job)->need;
    if (*need) return TUTTI_OK;
    tutti_status st = read_spec(j, job, &arena, &spec, err);
    if (!st) *need = tutti_jobs_note(j, job)->need = spec.most * spec.threads;
    tutti_arena_release(&arena);
    return st;
}

static tutti_status start_attempt(tutti_jobs *j, tutti_stored_job *job, tutti_failure *err)
{
    tutti_status st = tutti_store_begin_attempt(j->options.store, job->id, j->options.engine->name,
                                                tutti_clock_wall_s(), &job->attempt, err);
    if (st) return st;
    job->state = "placing";
    job->handle = NULL; /* it was of the attempt before */
    return follow(j, job, err);
}

/* Starts jobs in their order as long as they fit. One that does not fit holds up those behind it, so that it gets its
 * turn; one that needs more than all cores runs alone. */
static tutti_status start_queued(tutti_jobs *j, tutti_stored_job *jobs, int n, tutti_failure *err)
{
    int used = 0, need;
    tutti_status st = TUTTI_OK;
    const bool counts = !j->options.engine->has_queue;
    for (int i = 0; i < n && counts && !st; i++) {
        if (!jobs[i].is_live || !strcmp(jobs[i].state, "queued")) continue;
        st = find_need(j, jobs[i].id, &need, err);
        used += need;
    }
    for (int i = 0; i < n && !st; i++) {
        if (!jobs[i].is_live || jobs[i].stops || strcmp(jobs[i].state, "queued")) continue;
        st = find_need(j, jobs[i].id, &need, err);
        if (st || (counts && used && used + need > j->options.engine_options.cores)) break;
        used += need;
        st = start_attempt(j, &jobs[i], err);
    }
    return st;
}

static tutti_status remove_job(tutti_jobs *j, int64_t job, tutti_failure *err)
{
    char *folder = tutti_jobs_folder(j, job);
    tutti_status st = tutti_file_remove_tree(folder, err);
    if (!st) st = tutti_store_remove(j->options.store, job, tutti_clock_wall_s(), err);
    if (!st) tutti_jobs_forget(j, job);
    free(folder);
    return st;
}

static tutti_status look_at(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err)
{
    if (job->is_gone) return remove_job(j, job->id, err);
    if (strcmp(job->state, "queued")) return follow(j, job, err);
    if (!job->stops) return TUTTI_OK;
    return end(j, job, (tutti_store_change){.state = "stopped", .cause = "stopped in the queue"}, err);
}

tutti_status tutti_jobs_tick(tutti_jobs *j, tutti_failure *err)
{
    tutti_arena arena = {0};
    tutti_stored_job *jobs;
    int n;
    tutti_status first = TUTTI_OK, st = tutti_store_list_live(j->options.store, &arena, &jobs, &n, err);
    for (int i = 0; i < n && !st; i++) {
        /* one job whose files cannot be written must not hold up the others */
        const tutti_status own = look_at(j, &jobs[i], first ? NULL : err);
        if (!first) first = own;
    }
    tutti_arena_reset(&arena);
    if (!st) st = tutti_store_list_live(j->options.store, &arena, &jobs, &n, err); /* as they are now */
    if (!st) st = start_queued(j, jobs, n, err);
    tutti_arena_release(&arena);
    return st ? st : first;
}
