/* SPDX-License-Identifier: Apache-2.0 */
/* rank_processes.h: a test that starts itself as ranks: `test MODE` under tutti_launch; a rank tells what it saw
 * through a pipe, one line each, the last of which counts. After testing.h. */
#ifndef TUTTI_TESTS_RANK_PROCESSES_H
#define TUTTI_TESTS_RANK_PROCESSES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "collective/launch/join.h"
#include "collective/launch/launch.h"
#include "collective/wire/wire.h"

static inline void say(const char *words)
{
    char line[1200];
    const char *rank = getenv("RANK"), *fd = getenv("TEST_PIPE");
    int n = snprintf(line, sizeof line, "%s %.6f %s\n", rank, tutti_clock_s(), words);
    (void)!write((int)strtol(fd, NULL, 10), line, (size_t)n);
}

static inline bool is_rank(int argc)
{
    return argc == 2 && getenv("TEST_PIPE") && getenv("RANK");
}

/* Several hosts on one machine: TEST_HOSTS has one letter a rank. Before the environment is read. Not over a wire that
 * shares memory: that is of one host, and every rank counts as one by itself. */
static inline void take_host(void)
{
    const char *hosts = getenv("TEST_HOSTS");
    if (!hosts || getenv("TEST_SHARES_MEMORY")) return;
    const char host[2] = {hosts[strtol(getenv("RANK"), NULL, 10)], '\0'};
    setenv("TUTTI_HOST_ID", host, 1);
}

/* The ways of the wires that join ranks here: what UCX does depends on what it is held to. */
typedef struct {
    const char *wire, *transports; /* NULL: it has none to choose */
    bool shares_memory;
} wire_way;

static const wire_way wire_ways[] = {{"tcp", NULL, false}, {"ucx", "tcp,self", false}, {"ucx", "sm,self", true}};
enum { WIRE_WAYS = sizeof wire_ways / sizeof wire_ways[0] };

static inline void put_variable(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static inline void take_way(const wire_way *way)
{
    put_variable("TUTTI_WIRE", way ? way->wire : NULL);
    put_variable("UCX_TLS", way ? way->transports : NULL);
    put_variable("TEST_SHARES_MEMORY", way && way->shares_memory ? "1" : NULL);
}

/* One process may read another's memory here: UCX's shared memory wants it (CMA). */
static inline bool may_read_others(void)
{
    char from = 1, to = 0;
    struct iovec there = {&from, 1}, here = {&to, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

static inline const char *why_not_over(const wire_way *way, tutti_failure *err)
{
    const tutti_wire_row *row = tutti_wire_find(way->wire, err);
    tutti_wire *w;
    if (!row->open) return row->absent;
    if (way->shares_memory && !may_read_others()) return "the system lets no process read another's memory";
    if (row->open(0, 1, &w, err)) return err->text;
    row->close(w, 0);
    return NULL;
}

/* The i-th way that there is here, for all ranks from now on; false: there are no more, and none is asked for any
 * longer. */
static inline bool take_wire(int i)
{
    for (int k = 0; k < WIRE_WAYS; k++) {
        tutti_failure err = {0};
        take_way(&wire_ways[k]);
        const char *why = why_not_over(&wire_ways[k], &err);
        if (why && i == 0) print_message("not over %s: %s\n", wire_ways[k].wire, why);
        if (!why && i-- == 0) return true;
    }
    take_way(NULL);
    return false;
}

typedef struct {
    int exit_code;
    char words[4000];     /* the launcher's */
    char heard[16][1200]; /* each rank's last line */
    char first[16][1200]; /* and its first */
    double at[16];
} outcome;

static inline void run_mode(const char *self, const char *mode, int nranks, outcome *out)
{
    int ends[2];
    char text[16], *argv[] = {(char *)(uintptr_t)self, (char *)(uintptr_t)mode, NULL};
    tutti_launch_result result;
    tutti_failure err = {0};
    memset(out, 0, sizeof *out);
    assert_int_equal(pipe(ends), 0);
    snprintf(text, sizeof text, "%d", ends[1]);
    setenv("TEST_PIPE", text, 1);
    const tutti_launch_options options = {.nranks = nranks, .grace_s = 3};
    assert_int_equal(tutti_launch(&options, argv, &result, &err), TUTTI_OK);
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    char line[1300];
    while (fgets(line, sizeof line, f)) {
        char *rest;
        long rank = strtol(line, &rest, 10);
        double at = strtod(rest, &rest);
        line[strcspn(line, "\n")] = '\0';
        if (rank < 0 || rank >= 16) continue; /* the rest of words with several lines */
        out->at[rank] = at;
        snprintf(out->heard[rank], sizeof out->heard[rank], "%s", rest);
        if (!out->first[rank][0]) snprintf(out->first[rank], sizeof out->first[rank], "%s", rest);
    }
    fclose(f);
    out->exit_code = result.exit_code;
    snprintf(out->words, sizeof out->words, "%s", result.words);
    free(result.words);
}

/* As many ranks as the text has letters. */
static inline void run_on_hosts(const char *self, const char *mode, const char *hosts, outcome *out)
{
    setenv("TEST_HOSTS", hosts, 1);
    run_mode(self, mode, (int)strlen(hosts), out);
}

static inline void expect_words(const outcome *o, int rank, const char *words)
{
    if (!strstr(o->heard[rank], words))
        fail_msg("rank %d said '%s', not '%s'; the launcher: %s", rank, o->heard[rank], words, o->words);
}

#endif
