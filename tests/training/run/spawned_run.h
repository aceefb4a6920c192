/* SPDX-License-Identifier: Apache-2.0 */
/* spawned_run.h: `tutti train` as a user starts it, in a folder of the test's own. */
#ifndef TUTTI_SPAWNED_RUN_H
#define TUTTI_SPAWNED_RUN_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "training/run/keep/checkpoint.h"

enum { SPAWNED_MAX_ARGS = 48, SPAWNED_MAX_RANKS = 16 };

typedef struct {
    char dir[64];
} run_folder;

static inline int run_folder_make(void **state)
{
    run_folder *f = calloc(1, sizeof *f);
    strcpy(f->dir, "/tmp/tutti_run_XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static inline int run_folder_drop(void **state)
{
    run_folder *f = *state;
    assert_int_equal(tutti_file_remove_tree(f->dir, NULL), TUTTI_OK);
    free(f);
    return 0;
}

/* Writes DIR/NAME and gives its path. */
static inline const char *run_file(const run_folder *f, const char *name, const char *text, char path[160])
{
    snprintf(path, 160, "%s/%s", f->dir, name);
    assert_int_equal(tutti_file_write_atomic(path, text, strlen(text), NULL), TUTTI_OK);
    return path;
}

typedef struct {
    pid_t pid;
    char log[160]; /* stdout and stderr */
} spawned_run;

/* words: the command line after `tutti`, split at blanks. What the test ignores, the program does. */
static inline spawned_run run_start_like(const run_folder *f, const char *name, const char *words)
{
    spawned_run r;
    char copy[2048], *rest = NULL, *args[SPAWNED_MAX_ARGS] = {(char *)"tutti"};
    int n = 1;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok_r(copy, " ", &rest); w && n < SPAWNED_MAX_ARGS - 1; w = strtok_r(NULL, " ", &rest))
        args[n++] = w;
    snprintf(r.log, sizeof r.log, "%s/%s.log", f->dir, name);
    r.pid = fork();
    assert_true(r.pid >= 0);
    if (r.pid == 0) {
        const int fd = open(r.log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(fd, 1);
        dup2(fd, 2);
        unsetenv("RANK");
        unsetenv("WORLD_SIZE");
        execv(TUTTI_PROGRAM, args);
        _exit(127);
    }
    return r;
}

/* A hang-up is heard even where the test runs under nohup. */
static inline spawned_run run_start(const run_folder *f, const char *name, const char *words)
{
    void (*before)(int) = signal(SIGHUP, SIG_DFL);
    const spawned_run r = run_start_like(f, name, words);
    signal(SIGHUP, before);
    return r;
}

/* Exit code, 128 + n for signal n. */
static inline int run_wait(const spawned_run *r)
{
    int status;
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

__attribute__((noinline, unused)) static char *run_log(const spawned_run *r)
{
    char *text = NULL;
    size_t n = 0;
    assert_int_equal(tutti_file_read(r->log, 1 << 24, TUTTI_ERR_FAILED, &text, &n, NULL), TUTTI_OK);
    return text;
}

/* The hash of the last line; a run that has none fails the test with its log, and so does one that passed over a
 * checkpoint: begun anew, it would end as it should. */
static inline void run_hash(const spawned_run *r, char out[17])
{
    char *log = run_log(r);
    if (strstr(log, "passed over a checkpoint")) fail_msg("not gone on: %s", log);
    const char *at = NULL;
    for (const char *next = strstr(log, "weights "); next; next = strstr(next + 1, "weights ")) at = next;
    if (!at) fail_msg("no weights in the end: %s", log);
    memcpy(out, at + strlen("weights "), 16);
    out[16] = '\0';
    free(log);
}

static inline void run_to_end(const run_folder *f, const char *name, const char *words, char hash[17])
{
    const spawned_run r = run_start(f, name, words);
    const int rc = run_wait(&r);
    if (rc) fail_msg("tutti %s: exit %d: %s", words, rc, run_log(&r));
    run_hash(&r, hash);
}

/* What a run's folder has saved last is whole. */
static inline void run_expect_checkpoint(const run_folder *f, const char *out)
{
    char *path = NULL, words[400];
    tutti_failure err = {0};
    if (tutti_checkpoint_newest(out, &path, NULL, &err) || !path) fail_msg("no checkpoint: %s", err.text);
    snprintf(words, sizeof words, "ckpt verify %s", path);
    const spawned_run verified = run_start(f, "verify", words);
    assert_int_equal(run_wait(&verified), 0);
    free(path);
}

/* Processes of the launcher. */
static inline int run_ranks(const spawned_run *r, pid_t out[SPAWNED_MAX_RANKS])
{
    char path[64];
    int n = 0, pid;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", r->pid, r->pid);
    FILE *f = fopen(path, "r");
    while (f && n < SPAWNED_MAX_RANKS && fscanf(f, "%d", &pid) == 1) out[n++] = pid;
    if (f) fclose(f);
    return n;
}

/* The last step that metrics.jsonl speaks of; 0 if none. */
static inline long run_step(const char *dir)
{
    char path[200], *text;
    size_t n;
    long step = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    if (tutti_file_read(path, 1 << 26, TUTTI_ERR_FAILED, &text, &n, NULL)) return 0;
    for (const char *at = strstr(text, "\"ev\":\"step\",\"step\":"); at;
         at = strstr(at + 1, "\"ev\":\"step\",\"step\":"))
        step = strtol(at + strlen("\"ev\":\"step\",\"step\":"), NULL, 10);
    free(text);
    return step;
}

/* Waits until the run has done so many steps; false if it ended before. */
static inline bool run_until_step(const spawned_run *r, const char *dir, long step)
{
    for (int i = 0; i < 12000; i++) {
        siginfo_t ended = {0};
        if (run_step(dir) >= step) return true;
        if (waitid(P_PID, (id_t)r->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid) return false;
        tutti_clock_sleep_s(0.002);
    }
    fail_msg("%s does not get to step %ld", dir, step);
    return false;
}

/* Waits until the run's folder has a whole checkpoint. A checkpoint is written beside training, so it may come long
 * after its step. */
__attribute__((unused)) static inline void run_until_checkpoint(const char *dir)
{
    for (int i = 0; i < 12000; i++) {
        char *path = NULL;
        const bool is_there = !tutti_checkpoint_newest(dir, &path, NULL, NULL) && path;
        free(path);
        if (is_there) return;
        tutti_clock_sleep_s(0.002);
    }
    fail_msg("%s gets no checkpoint", dir);
}

#endif
