/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c: jobs and attempts in the store: what is stored once stays once, and older attempts change nothing. */
#include "testing.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/host/program.h"
#include "store/store.h"

typedef struct {
    char *folder, path[512];
    tutti_store *store;
    tutti_arena arena;
    tutti_failure err;
} fixture;

static int make(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (tutti_program_folder(&f->folder, &f->err)) return 1;
    snprintf(f->path, sizeof f->path, "%s/store.sqlite", f->folder);
    *state = f;
    return (int)tutti_store_open(f->path, &f->store, &f->err);
}

static int drop(void **state)
{
    fixture *f = *state;
    tutti_store_close(f->store);
    const int st = (int)tutti_file_remove_tree(f->folder, NULL);
    tutti_arena_release(&f->arena);
    free(f->folder);
    free(f);
    return st;
}

static void open_again(fixture *f)
{
    tutti_store_close(f->store);
    if (tutti_store_open(f->path, &f->store, &f->err)) fail_msg("%s", f->err.text);
}

static void hold(const fixture *f, tutti_status st)
{
    if (st) fail_msg("%s", f->err.text);
}

static int64_t add(fixture *f, const char *key, int priority)
{
    int64_t id;
    bool is_new;
    const tutti_stored_job job = {
        .key = key, .name = "a name", .kind = "command", .spec = "{}", .priority = priority, .created = 1.5};
    hold(f, tutti_store_add(f->store, &job, &id, &is_new, &f->err));
    return id;
}

static tutti_stored_job get(fixture *f, int64_t id)
{
    tutti_stored_job job;
    bool found;
    hold(f, tutti_store_get(f->store, id, &f->arena, &job, &found, &f->err));
    assert_true(found);
    return job;
}

static bool move(fixture *f, tutti_store_change change)
{
    bool changed;
    hold(f, tutti_store_move(f->store, &change, &changed, &f->err));
    return changed;
}

static void a_job_is_there_after_the_store_was_closed(void **state)
{
    fixture *f = *state;
    const int64_t id = add(f, NULL, 3);
    open_again(f);
    const tutti_stored_job job = get(f, id);
    assert_string_equal(job.name, "a name");
    assert_string_equal(job.kind, "command");
    assert_string_equal(job.spec, "{}");
    assert_string_equal(job.state, "queued");
    assert_null(job.key);
    assert_null(job.cause);
    assert_true(job.is_live && !job.has_code && !job.is_gone && job.created == 1.5);
    assert_int_equal(job.priority, 3);
    assert_int_equal(job.attempt, 0);
}

static void a_key_makes_one_job(void **state)
{
    fixture *f = *state;
    bool is_new;
    int64_t id;
    const int64_t first = add(f, "key", 0);
    open_again(f);
    const tutti_stored_job again = {.key = "key", .name = "other", .kind = "train", .spec = "[]"};
    hold(f, tutti_store_add(f->store, &again, &id, &is_new, &f->err));
    assert_int_equal(id, first);
    assert_false(is_new);
    assert_string_equal(get(f, id).name, "a name");
    assert_int_not_equal(add(f, "another", 0), first);
}

static void an_attempt_has_a_number_and_older_ones_change_nothing(void **state)
{
    fixture *f = *state;
    int number;
    const int64_t id = add(f, NULL, 0);
    hold(f, tutti_store_begin_attempt(f->store, id, "local", 2, &number, &f->err));
    assert_int_equal(number, 1);
    /* a job begins its next attempt from the queue alone */
    assert_int_equal(tutti_store_begin_attempt(f->store, id, "local", 2, &number, &f->err), TUTTI_ERR_USAGE);
    const tutti_store_change failed = {
        .job = id, .attempt = 1, .state = "failed", .has_code = true, .code = 4, .cause = "why", .at = 3};
    assert_true(move(f, failed));
    assert_false(move(f, failed)); /* it has ended */
    hold(f, tutti_store_requeue(f->store, id, 4, &f->err));
    hold(f, tutti_store_begin_attempt(f->store, id, "local", 5, &number, &f->err));
    assert_int_equal(number, 2);
    assert_false(move(f, failed)); /* of the first attempt */
    assert_true(move(f, (tutti_store_change){.job = id, .attempt = 2, .state = "done", .has_code = true, .at = 6}));
    tutti_stored_attempt *attempts;
    int n;
    hold(f, tutti_store_attempts(f->store, id, &f->arena, &attempts, &n, &f->err));
    assert_int_equal(n, 2);
    assert_int_equal(attempts[0].code, 4);
    assert_string_equal(attempts[0].cause, "why");
    assert_true(attempts[1].has_code && attempts[1].code == 0 && !attempts[1].cause && attempts[1].ended == 6);
}

static void live_jobs_are_listed_by_priority_and_age(void **state)
{
    fixture *f = *state;
    const int64_t a = add(f, NULL, 0), b = add(f, NULL, 5), c = add(f, NULL, 0), d = add(f, NULL, 0);
    tutti_stored_job *jobs;
    int n;
    assert_true(move(f, (tutti_store_change){.job = c, .state = "stopped", .at = 1}));
    hold(f, tutti_store_list_live(f->store, &f->arena, &jobs, &n, &f->err));
    assert_int_equal(n, 3);
    assert_true(jobs[0].id == b && jobs[1].id == a && jobs[2].id == d);
    const tutti_store_filter two = {.limit = 2}, rest = {.limit = 9, .after = c},
                             ended = {.limit = 9, .state = "stopped"};
    hold(f, tutti_store_list(f->store, &two, &f->arena, &jobs, &n, &f->err));
    assert_true(n == 2 && jobs[0].id == d && jobs[1].id == c);
    hold(f, tutti_store_list(f->store, &rest, &f->arena, &jobs, &n, &f->err));
    assert_true(n == 2 && jobs[0].id == b && jobs[1].id == a);
    hold(f, tutti_store_list(f->store, &ended, &f->arena, &jobs, &n, &f->err));
    assert_true(n == 1 && jobs[0].id == c);
}

static void a_stop_is_a_wish_of_a_live_job(void **state)
{
    fixture *f = *state;
    const int64_t id = add(f, NULL, 0);
    hold(f, tutti_store_ask_stop(f->store, id, 2, &f->err));
    hold(f, tutti_store_ask_stop(f->store, id, 1, &f->err));
    assert_int_equal(get(f, id).stops, 2);
    assert_true(move(f, (tutti_store_change){.job = id, .state = "stopped", .at = 1}));
    hold(f, tutti_store_requeue(f->store, id, 2, &f->err));
    assert_int_equal(get(f, id).stops, 0);
}

static void a_removed_job_leaves_an_event_and_its_number(void **state)
{
    fixture *f = *state;
    bool found;
    tutti_stored_job job;
    tutti_stored_event *events;
    const int64_t id = add(f, "key", 0);
    hold(f, tutti_store_mark_gone(f->store, id, &f->err));
    assert_false(get(f, id).is_gone); /* it is live */
    assert_true(move(f, (tutti_store_change){.job = id, .state = "stopped", .at = 1}));
    hold(f, tutti_store_mark_gone(f->store, id, &f->err));
    assert_true(get(f, id).is_gone);
    assert_true(add(f, "key", 0) > id); /* its key is free: a client would get a job that goes */
    hold(f, tutti_store_remove(f->store, id, 2, &f->err));
    hold(f, tutti_store_get(f->store, id, &f->arena, &job, &found, &f->err));
    assert_false(found);
    int n = 10;
    hold(f, tutti_store_events(f->store, 1, &f->arena, &events, &n, &f->err));
    assert_int_equal(n, 3);
    assert_string_equal(events[0].text, "stopped");
    assert_true(events[2].job == id && !strcmp(events[2].text, "removed"));
    assert_int_equal(tutti_store_last_event(f->store), events[2].id);
    open_again(f);
    assert_int_equal(tutti_store_last_event(f->store), events[2].id);
    assert_true(add(f, NULL, 0) > id);
}

static void a_newer_store_is_refused_and_the_file_is_closed_to_others(void **state)
{
    fixture *f = *state;
    struct stat of;
    sqlite3 *db;
    tutti_store *newer;
    assert_int_equal(stat(f->path, &of), 0);
    assert_int_equal(of.st_mode & 0777, 0600);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(tutti_store_open(f->path, &newer, &f->err), TUTTI_ERR_DATA);
    assert_non_null(strstr(f->err.text, "a newer version"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_there_after_the_store_was_closed),
        TEST(a_key_makes_one_job),
        TEST(an_attempt_has_a_number_and_older_ones_change_nothing),
        TEST(live_jobs_are_listed_by_priority_and_age),
        TEST(a_stop_is_a_wish_of_a_live_job),
        TEST(a_removed_job_leaves_an_event_and_its_number),
        TEST(a_newer_store_is_refused_and_the_file_is_closed_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
