/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobs.c: the states of jobs, by an engine that says what a test wants, over servers that come and go. */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/host/program.h"
#include "serve/jobs.h"

/* The engine of these tests: one view for all attempts. It counts what it is asked. */
typedef struct {
    tutti_attempt_view view;
    int nstarts, nterms, nquits, nrevokes;
    bool start_fails, has_begun;
    char argv[400], handle[40]; /* handle: what the last look was given */
} fake;

typedef struct {
    char *folder, jobs[512], store_path[512];
    tutti_store *store;
    tutti_jobs *j;
    tutti_job_engine engine;
    fake fake;
    tutti_arena arena;
    tutti_failure err;
} fixture;

static tutti_status fake_open(const tutti_engine_options *o, void **self, tutti_failure *err)
{
    (void)err;
    *self = (void *)(uintptr_t)o->keeper; /* the fixture hands its fake over by this text */
    return TUTTI_OK;
}

static void fake_close(void *self)
{
    (void)self;
}

static tutti_status fake_start(void *self, const tutti_attempt *a, tutti_strbuf *handle, tutti_failure *err)
{
    fake *f = self;
    f->nstarts++;
    if (f->start_fails) return tutti_fail(err, TUTTI_ERR_FAILED, "no process was left");
    f->argv[0] = '\0';
    for (int i = 0; a->argv[i]; i++)
        snprintf(f->argv + strlen(f->argv), sizeof f->argv - strlen(f->argv), "%s%s", i ? " " : "", a->argv[i]);
    tutti_strbuf_puts(handle, "a handle");
    return TUTTI_OK;
}

static void fake_poll(void *self, const tutti_attempt *a, tutti_attempt_view *out)
{
    fake *f = self;
    snprintf(f->handle, sizeof f->handle, "%s", a->handle ? a->handle : "none");
    *out = f->view;
}

static tutti_status fake_signal(void *self, const tutti_attempt *a, int signal_number, tutti_failure *err)
{
    fake *f = self;
    (void)a, (void)err;
    f->nterms += signal_number == SIGTERM;
    f->nquits += signal_number == SIGQUIT;
    return TUTTI_OK;
}

static tutti_status fake_revoke(void *self, const tutti_attempt *a, bool *revoked, tutti_failure *err)
{
    fake *f = self;
    (void)a, (void)err;
    f->nrevokes++;
    *revoked = !f->has_begun;
    return TUTTI_OK;
}

static void begin_server(fixture *f)
{
    if (tutti_store_open(f->store_path, &f->store, &f->err)) fail_msg("%s", f->err.text);
    const tutti_jobs_options o = {
        .store = f->store,
        .engine = &f->engine,
        .engine_options = {.keeper = (const char *)&f->fake, .program = "/bin/tutti", .cores = 4},
        .folder = f->jobs};
    if (tutti_jobs_open(&o, &f->j, &f->err)) fail_msg("%s", f->err.text);
}

static void end_server(fixture *f)
{
    tutti_jobs_close(f->j);
    tutti_store_close(f->store);
}

static int make(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (tutti_program_folder(&f->folder, NULL)) return 1;
    snprintf(f->jobs, sizeof f->jobs, "%s/jobs", f->folder);
    snprintf(f->store_path, sizeof f->store_path, "%s/store.sqlite", f->folder);
    f->engine =
        (tutti_job_engine){"fake", false, fake_open, fake_close, fake_start, fake_poll, fake_signal, fake_revoke};
    f->fake.view.state = TUTTI_ATTEMPT_NEVER;
    *state = f;
    if (tutti_file_make_dir(f->jobs, NULL)) return 1;
    begin_server(f);
    return 0;
}

static int drop(void **state)
{
    fixture *f = *state;
    end_server(f);
    const int st = (int)tutti_file_remove_tree(f->folder, NULL);
    tutti_arena_release(&f->arena);
    free(f->folder);
    free(f);
    return st;
}

static void tick(fixture *f)
{
    if (tutti_jobs_tick(f->j, &f->err)) fail_msg("%s", f->err.text);
}

static int64_t submit(fixture *f, bool is_train, int ranks)
{
    static const char *const argv[] = {"do", "it", NULL};
    const tutti_job_spec spec = {.name = "n",
                                 .is_train = is_train,
                                 .job = is_train ? "epochs: 1\n" : NULL,
                                 .argv = argv,
                                 .nargv = 2,
                                 .folder = "/",
                                 .least = 1,
                                 .most = ranks,
                                 .threads = 1,
                                 .max_restarts = 2};
    int64_t id;
    bool is_new;
    if (tutti_jobs_submit(f->j, &spec, NULL, &id, &is_new, &f->err)) fail_msg("%s", f->err.text);
    return id;
}

static tutti_stored_job get(fixture *f, int64_t id)
{
    tutti_stored_job job;
    bool found;
    if (tutti_store_get(f->store, id, &f->arena, &job, &found, &f->err) || !found) fail_msg("no job: %s", f->err.text);
    return job;
}

static void expect(fixture *f, int64_t id, const char *state)
{
    tick(f);
    assert_string_equal(get(f, id).state, state);
}

static void look_like(fixture *f, tutti_attempt_state state, int code)
{
    f->fake.view =
        (tutti_attempt_view){.state = state, .code = code, .at = tutti_clock_wall_s(), .seen = tutti_clock_wall_s()};
    f->fake.has_begun = state != TUTTI_ATTEMPT_NEVER;
}

static void write_metrics(const fixture *f, int64_t id, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%lld/run", f->jobs, (long long)id);
    assert_int_equal(tutti_file_make_dir(path, NULL), TUTTI_OK);
    strcat(path, "/metrics.jsonl");
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), NULL), TUTTI_OK);
}

static void a_run_goes_from_the_queue_to_its_end(void **state)
{
    fixture *f = *state;
    char line[200], run[1200];
    const int64_t id = submit(f, true, 3);
    assert_string_equal(get(f, id).state, "queued");
    expect(f, id, "placing");
    snprintf(run, sizeof run, "/bin/tutti train %s/%lld/job.yaml --out %s/%lld/run --ranks 1:3 --max-restarts 2",
             f->jobs, (long long)id, f->jobs, (long long)id);
    assert_string_equal(f->fake.argv, run);
    look_like(f, TUTTI_ATTEMPT_WAITING, 0);
    expect(f, id, "placing");
    look_like(f, TUTTI_ATTEMPT_ALIVE, 0);
    expect(f, id, "rendezvous");
    snprintf(line, sizeof line, "{\"ev\":\"step\",\"step\":5,\"loss\":0.5,\"ts\":%f}\n", f->fake.view.at - 1);
    write_metrics(f, id, line); /* of an earlier attempt */
    expect(f, id, "rendezvous");
    snprintf(line, sizeof line, "{\"ev\":\"step\",\"step\":5,\"loss\":0.5,\"ts\":%f}\n", f->fake.view.at + 1);
    write_metrics(f, id, line);
    expect(f, id, "running");
    snprintf(line, sizeof line, "{\"ev\":\"restart\",\"step\":5,\"seconds\":1,\"lost\":1,\"ts\":%f}\n",
             f->fake.view.at + 2);
    write_metrics(f, id, line);
    expect(f, id, "recovering");
    snprintf(line, sizeof line, "{\"ev\":\"step\",\"step\":9,\"loss\":0.25,\"ts\":%f}\n", f->fake.view.at + 3);
    write_metrics(f, id, line);
    expect(f, id, "running");
    look_like(f, TUTTI_ATTEMPT_ENDED, 0);
    expect(f, id, "done");
    assert_int_equal(f->fake.nstarts, 1);
    tutti_series_summary s;
    const tutti_stored_job job = get(f, id);
    tutti_jobs_numbers(f->j, &job, &s); /* of a job that has ended they are in the store */
    assert_int_equal(s.step, 9);
    assert_true(s.loss == 0.25);
}

static void a_server_that_was_killed_starts_an_attempt_again_and_not_another(void **state)
{
    fixture *f = *state;
    tutti_stored_attempt *attempts;
    int n;
    const int64_t id = submit(f, false, 1);
    expect(f, id, "placing");
    end_server(f);
    begin_server(f);
    expect(f, id, "placing"); /* nobody has begun it */
    assert_int_equal(f->fake.nstarts, 2);
    tick(f);
    assert_int_equal(f->fake.nstarts, 2); /* it may come yet */
    assert_int_equal(tutti_store_attempts(f->store, id, &f->arena, &attempts, &n, NULL), TUTTI_OK);
    assert_int_equal(n, 1);
    assert_string_equal(attempts[0].handle, "a handle");
    look_like(f, TUTTI_ATTEMPT_ALIVE, 0);
    expect(f, id, "running");
    assert_string_equal(f->fake.handle, "a handle"); /* of the start, by way of the store */
    end_server(f);
    look_like(f, TUTTI_ATTEMPT_ENDED, 3);
    begin_server(f);
    expect(f, id, "failed");
    assert_int_equal(get(f, id).code, 3);
}

static void an_attempt_that_cannot_be_started_has_failed(void **state)
{
    fixture *f = *state;
    f->fake.start_fails = true;
    const int64_t id = submit(f, false, 1);
    expect(f, id, "failed");
    assert_string_equal(get(f, id).cause, "no process was left");
    assert_int_equal(f->fake.nrevokes, 1);
    tick(f);
    assert_int_equal(f->fake.nstarts, 1);
}

static void a_stop_is_sent_until_the_attempt_has_noted_it(void **state)
{
    fixture *f = *state;
    const int64_t id = submit(f, true, 1);
    tick(f);
    look_like(f, TUTTI_ATTEMPT_ALIVE, 0);
    tick(f);
    tutti_stored_job job = get(f, id);
    assert_int_equal(tutti_jobs_stop(f->j, &job, false, NULL), TUTTI_OK);
    tick(f);
    tick(f);
    assert_int_equal(f->fake.nterms, 1); /* the next one would be a second request if it came at once */
    end_server(f);
    begin_server(f);
    tick(f);
    assert_int_equal(f->fake.nterms, 2); /* nobody knows whether the first one has arrived */
    f->fake.view.nasked = 1;
    end_server(f);
    begin_server(f);
    tick(f);
    assert_int_equal(f->fake.nterms, 2);
    job = get(f, id);
    assert_int_equal(tutti_jobs_stop(f->j, &job, true, NULL), TUTTI_OK);
    tick(f);
    assert_int_equal(f->fake.nterms, 3);
    look_like(f, TUTTI_ATTEMPT_ENDED, 143);
    expect(f, id, "stopped");
    job = get(f, id);
    assert_int_equal(tutti_jobs_stop(f->j, &job, false, &f->err), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_jobs_resume(f->j, &job, NULL), TUTTI_OK);
    look_like(f, TUTTI_ATTEMPT_NEVER, 0);
    expect(f, id, "placing");
    assert_string_equal(f->fake.handle, "none"); /* of this attempt, not of the one before */
    assert_int_equal(get(f, id).attempt, 2);
    look_like(f, TUTTI_ATTEMPT_ENDED, 0);
    expect(f, id, "done");
}

static void a_stop_before_the_beginning_gives_the_attempt_up(void **state)
{
    fixture *f = *state;
    const int64_t id = submit(f, false, 1), other = submit(f, false, 4);
    tick(f);
    tutti_stored_job job = get(f, id);
    assert_int_equal(tutti_jobs_stop(f->j, &job, false, NULL), TUTTI_OK);
    f->fake.has_begun = true; /* at this moment: it cannot be given up any more */
    expect(f, id, "placing");
    f->fake.has_begun = false;
    expect(f, id, "stopped");
    assert_string_equal(get(f, other).state, "placing"); /* there is room for it now */
    look_like(f, TUTTI_ATTEMPT_WAITING, 0);              /* in the queue of an engine */
    f->fake.has_begun = false;
    expect(f, other, "placing");
    job = get(f, other);
    assert_int_equal(tutti_jobs_stop(f->j, &job, false, NULL), TUTTI_OK);
    expect(f, other, "stopped");
    assert_int_equal(f->fake.nterms, 0);
}

static void a_job_that_is_removed_goes_with_its_folder_whoever_serves(void **state)
{
    fixture *f = *state;
    char folder[600];
    bool found;
    tutti_stored_job job;
    const int64_t id = submit(f, true, 1);
    tick(f);
    job = get(f, id);
    assert_int_equal(tutti_jobs_remove(f->j, &job, &f->err), TUTTI_ERR_USAGE);
    look_like(f, TUTTI_ATTEMPT_ENDED, 0);
    expect(f, id, "done");
    job = get(f, id);
    snprintf(folder, sizeof folder, "%s/%lld", f->jobs, (long long)id);
    assert_true(tutti_file_is_folder(folder));
    assert_int_equal(tutti_jobs_remove(f->j, &job, NULL), TUTTI_OK);
    end_server(f); /* before it has done anything */
    begin_server(f);
    tick(f);
    assert_false(tutti_file_is_folder(folder));
    assert_int_equal(tutti_store_get(f->store, id, &f->arena, &job, &found, NULL), TUTTI_OK);
    assert_false(found);
}

static void an_engine_that_cannot_be_asked_makes_a_state_unknown(void **state)
{
    fixture *f = *state;
    const int64_t id = submit(f, false, 1);
    tick(f);
    look_like(f, TUTTI_ATTEMPT_UNKNOWN, 0);
    snprintf(f->fake.view.words, sizeof f->fake.view.words, "it does not answer");
    expect(f, id, "unknown");
    assert_string_equal(get(f, id).cause, "it does not answer");
    look_like(f, TUTTI_ATTEMPT_ALIVE, 0);
    expect(f, id, "running");
    assert_null(get(f, id).cause);
    look_like(f, TUTTI_ATTEMPT_LOST, 0);
    expect(f, id, "lost");
    assert_false(get(f, id).is_live);
}

static void a_run_that_stands_still_reports_once(void **state)
{
    fixture *f = *state;
    char line[200];
    const int64_t id = submit(f, true, 1);
    tick(f);
    look_like(f, TUTTI_ATTEMPT_ALIVE, 0);
    f->fake.view.at -= 200;
    snprintf(line, sizeof line, "{\"ev\":\"step\",\"step\":5,\"loss\":0.5,\"ts\":%f}\n", f->fake.view.at + 100);
    write_metrics(f, id, line);
    expect(f, id, "running");
    tutti_stored_job job = get(f, id);
    assert_int_equal(tutti_jobs_liveness(f->j, &job), TUTTI_LIVENESS_STALLED);
    tick(f);
    tick(f);
    assert_int_equal(f->fake.nquits, 1);
    assert_int_equal(f->fake.nterms, 0);
    assert_int_equal(tutti_jobs_report(f->j, &job, NULL), TUTTI_OK);
    assert_int_equal(f->fake.nquits, 2);
}

static void liveness_goes_by_the_age_of_signs(void **state)
{
    (void)state;
    const struct {
        tutti_monitor_times times;
        tutti_liveness wanted;
    } cases[] = {
        {{.is_alive = false, .now = 100, .seen = 100}, TUTTI_LIVENESS_NONE},
        {{.is_alive = true, .now = 100, .begun = 90, .seen = 95.5}, TUTTI_LIVENESS_LIVE},
        {{.is_alive = true, .now = 100, .begun = 90, .seen = 95}, TUTTI_LIVENESS_SUSPECT},
        {{.is_alive = true, .now = 100, .begun = 50, .seen = 85}, TUTTI_LIVENESS_DEAD},
        {{.is_alive = true, .now = 100, .begun = 50, .seen = 85, .line_at = 98}, TUTTI_LIVENESS_LIVE},
        {{.is_alive = true, .now = 200, .begun = 50, .seen = 200}, TUTTI_LIVENESS_LIVE}, /* no step yet */
        {{.is_alive = true, .now = 200, .begun = 50, .seen = 200, .step_at = 40}, TUTTI_LIVENESS_LIVE}, /* of before */
        {{.is_alive = true, .now = 200, .begun = 50, .seen = 200, .step_at = 141}, TUTTI_LIVENESS_LIVE},
        {{.is_alive = true, .now = 200, .begun = 50, .seen = 200, .step_at = 140}, TUTTI_LIVENESS_STALLED},
        {{.is_alive = true, .now = 200, .begun = 50, .seen = 200, .step_at = 110, .step_gap = 10}, TUTTI_LIVENESS_LIVE},
        {{.is_alive = true, .now = 200, .begun = 50, .seen = 200, .step_at = 100, .step_gap = 10},
         TUTTI_LIVENESS_STALLED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(tutti_monitor_judge(&cases[i].times), cases[i].wanted);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_goes_from_the_queue_to_its_end),
        TEST(a_server_that_was_killed_starts_an_attempt_again_and_not_another),
        TEST(an_attempt_that_cannot_be_started_has_failed),
        TEST(a_stop_is_sent_until_the_attempt_has_noted_it),
        TEST(a_stop_before_the_beginning_gives_the_attempt_up),
        TEST(a_job_that_is_removed_goes_with_its_folder_whoever_serves),
        TEST(an_engine_that_cannot_be_asked_makes_a_state_unknown),
        TEST(a_run_that_stands_still_reports_once),
        cmocka_unit_test(liveness_goes_by_the_age_of_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
