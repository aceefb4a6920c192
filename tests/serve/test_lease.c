/* SPDX-License-Identifier: Apache-2.0 */
/* test_lease.c: an attempt begins once, lives as long as its keeper, and its end is known or lost; signals find nobody
 * else. */
#include "testing.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/host/program.h"
#include "base/process.h"
#include "serve/attempt/lease.h"

typedef struct {
    char *folder, attempt[512];
} fixture;

static int make(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (tutti_program_folder(&f->folder, NULL)) return 1;
    snprintf(f->attempt, sizeof f->attempt, "%s/attempt-1", f->folder);
    *state = f;
    return 0;
}

static int drop(void **state)
{
    fixture *f = *state;
    const int st = (int)tutti_file_remove_tree(f->folder, NULL);
    free(f->folder);
    free(f);
    return st;
}

static tutti_lease_view look(const fixture *f)
{
    tutti_lease_view view;
    tutti_failure err = {0};
    if (tutti_lease_look(f->attempt, &view, &err)) fail_msg("%s", err.text);
    return view;
}

static void an_attempt_begins_once(void **state)
{
    const fixture *f = *state;
    int lease, second;
    bool taken, revoked;
    assert_int_equal(look(f).state, TUTTI_LEASE_NEVER);
    assert_int_equal(tutti_lease_take(f->attempt, &lease, &taken, NULL), TUTTI_OK);
    assert_true(taken);
    assert_int_equal(tutti_lease_take(f->attempt, &second, &taken, NULL), TUTTI_OK);
    assert_false(taken);
    assert_int_equal(tutti_lease_revoke(f->attempt, &revoked, NULL), TUTTI_OK);
    assert_false(revoked);
    const tutti_lease_view view = look(f);
    assert_int_equal(view.state, TUTTI_LEASE_HELD);
    assert_int_equal(view.pid, getpid());
    assert_true(fabs(view.at - tutti_clock_wall_s()) < 60);
    close(lease);
    assert_int_equal(look(f).state, TUTTI_LEASE_LOST);
    char *path = tutti_file_in(f->folder, "."); /* nothing of the refused ones is left */
    assert_int_equal(rmdir(path), -1);
    free(path);
}

static void an_end_is_a_code_and_a_time(void **state)
{
    const fixture *f = *state;
    int lease;
    bool taken;
    assert_int_equal(tutti_lease_take(f->attempt, &lease, &taken, NULL), TUTTI_OK);
    assert_int_equal(tutti_lease_note_asked(f->attempt, 2, NULL), TUTTI_OK);
    assert_int_equal(tutti_lease_note_end(f->attempt, 143, NULL), TUTTI_OK);
    assert_int_equal(look(f).state, TUTTI_LEASE_HELD); /* until the keeper gives it back */
    close(lease);
    const tutti_lease_view view = look(f);
    assert_int_equal(view.state, TUTTI_LEASE_ENDED);
    assert_int_equal(view.code, 143);
    assert_int_equal(view.nasked, 2);
    assert_true(view.at > 0);
}

static void an_attempt_that_is_given_up_never_begins(void **state)
{
    const fixture *f = *state;
    int lease;
    bool taken, revoked;
    assert_int_equal(tutti_lease_revoke(f->attempt, &revoked, NULL), TUTTI_OK);
    assert_true(revoked);
    assert_int_equal(tutti_lease_take(f->attempt, &lease, &taken, NULL), TUTTI_OK);
    assert_false(taken);
    assert_int_equal(look(f).state, TUTTI_LEASE_ENDED);
    assert_int_equal(look(f).code, -1);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char *path = tutti_file_in(folder, name);
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), NULL), TUTTI_OK);
    free(path);
}

static void an_end_that_cannot_be_read_is_lost(void **state)
{
    const fixture *f = *state;
    int lease;
    bool taken;
    assert_int_equal(tutti_lease_take(f->attempt, &lease, &taken, NULL), TUTTI_OK);
    close(lease);
    write_text(f->attempt, "exit", "{\"code\":");
    assert_int_equal(look(f).state, TUTTI_LEASE_LOST);
    write_text(f->attempt, "exit", "{\"code\":\"0\"}");
    assert_int_equal(look(f).state, TUTTI_LEASE_LOST);
}

/* Starts the program's keeper on a shell script. */
static tutti_process start_keeper(const fixture *f, const char *way, const char *script)
{
    const char *const argv[] = {
        TUTTI_PROGRAM "-server", "keep", way, f->attempt, f->folder, "--", "sh", "-c", script, NULL};
    tutti_process p;
    tutti_failure err = {0};
    const tutti_process_options options = {.argv = argv, .in = TUTTI_STREAM_NOTHING};
    if (tutti_process_start(&options, &p, &err)) fail_msg("%s", err.text);
    return p;
}

static void await_log(const fixture *f, const char *text)
{
    char *path = tutti_file_in(f->attempt, "log"), *bytes;
    size_t n;
    for (int i = 0; i < 1000; i++) {
        if (tutti_file_read(path, 1000, TUTTI_ERR_FAILED, &bytes, &n, NULL) == TUTTI_OK) {
            const bool found = strstr(bytes, text) != NULL;
            free(bytes);
            if (found) {
                free(path);
                return;
            }
        }
        tutti_clock_sleep_s(0.01);
    }
    fail_msg("the log never says %s", text);
}

static void a_keeper_passes_signals_on_and_notes_the_end(void **state)
{
    const fixture *f = *state;
    bool sent;
    tutti_process p = start_keeper(
        f, "--gentle", "trap 'echo reports' QUIT; trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done");
    await_log(f, "ready");
    assert_int_equal(look(f).pid, p.pid);
    assert_int_equal(tutti_lease_signal(f->attempt, SIGQUIT, &sent, NULL), TUTTI_OK);
    assert_true(sent);
    await_log(f, "reports");
    assert_int_equal(look(f).nasked, 0);
    assert_int_equal(tutti_lease_signal(f->attempt, SIGTERM, &sent, NULL), TUTTI_OK);
    assert_true(tutti_process_wait(&p, 30));
    assert_int_equal(p.code, 0);
    assert_int_equal(look(f).code, 9);
    assert_int_equal(look(f).nasked, 1);
    assert_int_equal(tutti_lease_signal(f->attempt, SIGTERM, &sent, NULL), TUTTI_OK);
    assert_false(sent);
}

static void a_killed_keeper_is_lost_and_takes_its_command_along(void **state)
{
    const fixture *f = *state;
    bool sent;
    tutti_process p =
        start_keeper(f, "--blunt", "trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    await_log(f, "ready");
    tutti_process_kill(&p);
    assert_int_equal(look(f).state, TUTTI_LEASE_LOST);
    assert_int_equal(tutti_lease_signal(f->attempt, SIGTERM, &sent, NULL), TUTTI_OK);
    assert_false(sent);
    await_log(f, "told");
}

static void what_a_command_leaves_behind_ends_with_it(void **state)
{
    const fixture *f = *state;
    tutti_process p = start_keeper(f, "--blunt", "sleep 300 & echo $!; exit 0");
    assert_true(tutti_process_wait(&p, 30));
    char *path = tutti_file_in(f->attempt, "log"), *bytes;
    size_t n;
    assert_int_equal(tutti_file_read(path, 100, TUTTI_ERR_FAILED, &bytes, &n, NULL), TUTTI_OK);
    const pid_t left = (pid_t)strtol(bytes, NULL, 10);
    assert_true(left > 1);
    int i = 0;
    while (i < 1000 && kill(left, 0) == 0) tutti_clock_sleep_s(0.01), i++;
    assert_true(i < 1000);
    free(bytes);
    free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_attempt_begins_once),
        TEST(an_end_is_a_code_and_a_time),
        TEST(an_attempt_that_is_given_up_never_begins),
        TEST(an_end_that_cannot_be_read_is_lost),
        TEST(a_keeper_passes_signals_on_and_notes_the_end),
        TEST(a_killed_keeper_is_lost_and_takes_its_command_along),
        TEST(what_a_command_leaves_behind_ends_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
