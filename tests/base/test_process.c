/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c: child processes: how they begin, what they see of ours, how they end, and which of them ended
 * first. */
#include "testing.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/host/program.h"
#include "base/process.h"

#define SHELL(script) ((const char *const[]){"sh", "-c", (script), NULL})

static char *folder;

static int folder_make(void **state)
{
    (void)state;
    return (int)tutti_program_folder(&folder, NULL);
}

static int folder_drop(void **state)
{
    (void)state;
    const int st = (int)tutti_file_remove_tree(folder, NULL);
    free(folder);
    return st;
}

static tutti_process start(tutti_process_options options)
{
    tutti_process p;
    tutti_failure err = {0};
    if (tutti_process_start(&options, &p, &err)) fail_msg("%s", err.text);
    assert_true(p.pid > 0 && p.runs);
    return p;
}

static int code_of(tutti_process_options options)
{
    tutti_process p = start(options);
    assert_true(tutti_process_wait(&p, 60));
    return p.code;
}

static void check_end(const char *script, int code, int signal, tutti_status st, const char *words)
{
    char said[TUTTI_PROCESS_WORDS];
    tutti_process p = start((tutti_process_options){.argv = SHELL(script)});
    assert_true(tutti_process_wait(&p, 60));
    tutti_process_words(&p, said);
    assert_false(p.runs);
    assert_int_equal(p.code, code);
    assert_int_equal(p.signal, signal);
    assert_int_equal(tutti_process_status(&p), st);
    assert_string_equal(said, words);
}

static void an_end_is_a_code_or_a_signal(void **state)
{
    (void)state;
    check_end("exit 0", 0, 0, TUTTI_OK, "ended with 0");
    check_end("exit 4", 4, 0, TUTTI_ERR_PEER, "ended with 4");
    check_end("exit 77", 77, 0, TUTTI_ERR_FAILED, "ended with 77");
    check_end("kill -9 $$", 128 + SIGKILL, SIGKILL, TUTTI_ERR_FAILED, "was killed by signal 9 (Killed)");
}

static void a_child_outlives_a_deadline_and_takes_a_signal(void **state)
{
    (void)state;
    char words[TUTTI_PROCESS_WORDS];
    const double begin = tutti_clock_s();
    tutti_process p = start((tutti_process_options){.argv = SHELL("trap 'exit 5' TERM; while :; do sleep 0.02; done")});
    assert_false(tutti_process_wait(&p, 0));
    assert_false(tutti_process_wait(&p, 0.3));
    assert_true(tutti_clock_s() - begin >= 0.3);
    tutti_process_words(&p, words);
    assert_string_equal(words, "still runs");
    tutti_process_signal(&p, SIGTERM);
    assert_true(tutti_process_wait(&p, 60));
    assert_int_equal(p.code, 5);
    tutti_process_signal(&p, SIGTERM); /* nobody is there */
    assert_true(tutti_process_wait(&p, 0));
    assert_int_equal(p.code, 5);
    p = start((tutti_process_options){.argv = (const char *const[]){"sleep", "60", NULL}});
    tutti_process_kill(&p);
    assert_true(!p.runs && p.signal == SIGKILL && tutti_clock_s() - begin < 30);
}

static void output_goes_into_a_file(void **state)
{
    (void)state;
    char path[300], *text = NULL;
    size_t n;
    int fd;
    snprintf(path, sizeof path, "%s/log", folder);
    assert_int_equal(tutti_file_open_to_write(path, O_CREAT | O_TRUNC, &fd, NULL), TUTTI_OK);
    assert_int_equal(code_of((tutti_process_options){.argv = SHELL("cat; pwd -P; echo words >&2"),
                                                     .folder = folder,
                                                     .in = TUTTI_STREAM_NOTHING,
                                                     .out = fd,
                                                     .err = fd}),
                     0);
    assert_int_equal(code_of((tutti_process_options){.argv = SHELL("echo lost; echo lost >&2"),
                                                     .out = TUTTI_STREAM_NOTHING,
                                                     .err = TUTTI_STREAM_NOTHING}),
                     0);
    /* nothing more leads to nothing in the child than without streams of ours */
    const char *count = "n=0; for f in /proc/$$/fd/*; do [ ${f##*/} -le 2 ] || [ \"$(readlink $f)\" != /dev/null ] || "
                        "n=$((n + 1)); done; exit $n";
    assert_int_equal(code_of((tutti_process_options){.argv = SHELL(count),
                                                     .in = TUTTI_STREAM_NOTHING,
                                                     .out = TUTTI_STREAM_NOTHING,
                                                     .err = TUTTI_STREAM_NOTHING}),
                     code_of((tutti_process_options){.argv = SHELL(count)}));
    close(fd);
    assert_int_equal(tutti_file_read(path, 1000, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    char *real = realpath(folder, NULL);
    assert_memory_equal(text, real, strlen(real));
    assert_string_equal(text + strlen(real), "\nwords\n");
    free(real), free(text);
}

static void the_environment_is_changed_for_the_child_alone(void **state)
{
    (void)state;
    setenv("TEST_KEPT", "kept", 1);
    setenv("TEST_SET", "old", 1);
    setenv("TEST_GONE", "here", 1);
    setenv("TEST_SET_MORE", "more", 1); /* its name begins as another one does */
    const char *const changes[] = {"TEST_SET=new=1", "TEST_GONE", "TEST_NEVER", "TEST_ADDED=", NULL};
    const char *const argv[] = {"sh", "-c",
                                "test \"$TEST_KEPT,$TEST_SET,$TEST_SET_MORE\" = kept,new=1,more && "
                                "test \"${TEST_GONE-no}${TEST_NEVER-no}${TEST_ADDED-no}\" = nono",
                                NULL};
    assert_int_equal(code_of((tutti_process_options){.argv = argv, .environment = changes}), 0);
    assert_string_equal(getenv("TEST_SET"), "old");
    assert_string_equal(getenv("TEST_GONE"), "here");
}

static int end_with(void *arg)
{
    setenv("TEST_OWN", "own", 1);
    return *(const int *)arg;
}

static void a_child_is_prepared_before_it_is_the_program(void **state)
{
    (void)state;
    int code = 0;
    const char *const changes[] = {"TEST_CHANGED=1", NULL};
    const tutti_process_options options = {.argv = SHELL("test \"$TEST_OWN$TEST_CHANGED\" = own1 && exit 8"),
                                           .environment = changes,
                                           .prepare = end_with,
                                           .prepare_arg = &code};
    assert_int_equal(code_of(options), 8);
    code = 3;
    assert_int_equal(code_of(options), 3);
    assert_null(getenv("TEST_OWN"));
}

static void descriptors_are_closed_but_those_that_are_named(void **state)
{
    (void)state;
    char script[120];
    const int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 20), other = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 20);
    snprintf(script, sizeof script, "test -e /proc/self/fd/%d && ! test -e /proc/self/fd/%d", kept, other);
    assert_int_equal(code_of((tutti_process_options){.argv = SHELL(script), .inherited = &kept, .ninherited = 1}), 0);
    assert_int_equal(fcntl(kept, F_GETFD), FD_CLOEXEC);
    close(kept), close(other);
}

static void a_process_group_is_new_or_given(void **state)
{
    (void)state;
    const char *const argv[] = {"sleep", "60", NULL};
    tutti_process list[] = {start((tutti_process_options){.argv = argv, .own_group = true}), {0}, {0}};
    list[1] = start((tutti_process_options){.argv = argv, .own_group = true, .group = list[0].pid});
    list[2] = start((tutti_process_options){.argv = argv});
    assert_int_equal(getpgid(list[0].pid), list[0].pid);
    assert_int_equal(getpgid(list[1].pid), list[0].pid);
    assert_int_equal(getpgid(list[2].pid), getpgid(0));
    for (int i = 0; i < 3; i++) tutti_process_kill(&list[i]);
}

static void check_refused(tutti_process_options options, const char *words)
{
    tutti_process p;
    tutti_failure err = {0};
    assert_int_equal(tutti_process_start(&options, &p, &err), TUTTI_ERR_FAILED);
    assert_false(p.runs);
    if (!strstr(err.text, words)) fail_msg("%s is not in: %s", words, err.text);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left of it */
}

static void a_start_that_fails_says_of_what(void **state)
{
    (void)state;
    check_refused((tutti_process_options){.argv = (const char *const[]){"no-such-program-of-ours", NULL}},
                  "no-such-program-of-ours cannot be run: No such file");
    check_refused((tutti_process_options){.argv = SHELL("exit 0"), .program = "/no/such/program"},
                  "/no/such/program cannot be run: No such file");
    check_refused((tutti_process_options){.argv = SHELL("exit 0"), .program = folder}, folder);
    check_refused((tutti_process_options){.argv = SHELL("exit 0"), .folder = "/no/such/folder"},
                  "sh cannot be run in /no/such/folder: No such file");
    check_refused((tutti_process_options){.argv = SHELL("exit 0"), .out = 999}, "its streams: Bad file");
}

/* The children end in the order of their naps, which is not that of the list. */
static void of_many_children_it_is_known_who_ended_first(void **state)
{
    (void)state;
    enum { N = 5 };
    static const int naps[N] = {4, 1, 5, 3, 2}, order[N] = {1, 4, 3, 0, 2};
    tutti_process list[N + 1] = {0}; /* one has never been started */
    char script[60];
    for (int i = 0; i < N; i++) {
        snprintf(script, sizeof script, "sleep %.1f; exit %d", 0.4 * naps[i], 10 + i);
        list[i] = start((tutti_process_options){.argv = SHELL(script)});
    }
    assert_int_equal(tutti_process_wait_any(list, N + 1, 0), -1);
    for (int i = 0; i < N; i++) {
        const int ended = tutti_process_wait_any(list, N + 1, 60);
        assert_int_equal(ended, order[i]);
        assert_int_equal(list[ended].code, 10 + ended);
    }
    assert_int_equal(tutti_process_wait_any(list, N + 1, 60), -1); /* at once: none runs */
}

static void many_children_are_all_waited_for(void **state)
{
    (void)state;
    enum { N = 60 };
    tutti_process list[N];
    int seen = 0, sum = 0;
    for (int i = 0; i < N; i++) {
        char script[20];
        snprintf(script, sizeof script, "exit %d", i);
        list[i] = start((tutti_process_options){.argv = SHELL(script)});
    }
    for (int i; (i = tutti_process_wait_any(list, N, 60)) >= 0; seen++) sum += list[i].code == i;
    assert_true(seen == N && sum == N);
}

/* The child sends this process a signal, and ends later: both are heard, each in its turn. */
static void a_watch_hears_children_and_signals(void **state)
{
    (void)state;
    const int signals[] = {SIGUSR1, SIGTERM};
    tutti_process_watch w;
    sigset_t now;
    const double begin = tutti_clock_s();
    int heard = 0;
    signal(SIGCHLD, SIG_IGN); /* else nobody could be waited for */
    tutti_process_watch_begin(signals, 2, &w);
    assert_int_equal(tutti_process_watch_next(&w, 0.05), 0);
    tutti_process p = start((tutti_process_options){.argv = SHELL("kill -USR1 $PPID; sleep 0.2; kill -TERM $$; exit 9"),
                                                    .mask = &w.before});
    while (!tutti_process_wait(&p, 0)) {
        const int number = tutti_process_watch_next(&w, 20);
        if (number) assert_int_equal(number, SIGUSR1);
        heard += number == SIGUSR1;
    }
    assert_int_equal(heard, 1);
    assert_int_equal(p.signal, SIGTERM); /* blocked here, and not in the child */
    assert_true(tutti_clock_s() - begin < 15);
    tutti_process_watch_end(&w);
    assert_true(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
    sigprocmask(SIG_BLOCK, NULL, &now);
    assert_false(sigismember(&now, SIGTERM));
}

/* A process between us and the child ends; the child, which nobody asked to, ends as well. */
static void a_child_dies_with_who_started_it(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t between = fork();
    if (between == 0) {
        tutti_process p;
        const tutti_process_options options = {.argv = (const char *const[]){"sleep", "60", NULL},
                                               .dies_with = SIGKILL};
        close(ends[0]);
        _exit(tutti_process_start(&options, &p, NULL));
    }
    const double begin = tutti_clock_s();
    int status;
    close(ends[1]);
    assert_int_equal(waitpid(between, &status, 0), between);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* the last one who had it open is gone */
    assert_true(tutti_clock_s() - begin < 30);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_a_code_or_a_signal),
        cmocka_unit_test(a_child_outlives_a_deadline_and_takes_a_signal),
        cmocka_unit_test(output_goes_into_a_file),
        cmocka_unit_test(the_environment_is_changed_for_the_child_alone),
        cmocka_unit_test(a_child_is_prepared_before_it_is_the_program),
        cmocka_unit_test(descriptors_are_closed_but_those_that_are_named),
        cmocka_unit_test(a_process_group_is_new_or_given),
        cmocka_unit_test(a_start_that_fails_says_of_what),
        cmocka_unit_test(of_many_children_it_is_known_who_ended_first),
        cmocka_unit_test(many_children_are_all_waited_for),
        cmocka_unit_test(a_watch_hears_children_and_signals),
        cmocka_unit_test(a_child_dies_with_who_started_it),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
