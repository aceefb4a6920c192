/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c: takes an attempt, runs its command with its output in the log, passes signals on, and notes the end. */
#include "keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/file.h"
#include "../../base/process.h"
#include "../../base/stop_request.h"
#include "lease.h"

enum { NOT_STARTED = 127 };

static const int PASSED[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
enum { NPASSED = sizeof PASSED / sizeof *PASSED };

typedef struct {
    const tutti_keeper_options *options;
    tutti_process_watch watch;
    tutti_process command;
    int nasked;
    double asked_at; /* when the last request to stop came */
} keeper;

static void pass_on(keeper *k, int signal_number)
{
    const double now = tutti_clock_s();
    const bool is_new = !k->nasked || now > k->asked_at + TUTTI_ONE_REQUEST_S;
    if (signal_number == SIGTERM && is_new) {
        k->asked_at = now;
        tutti_lease_note_asked(k->options->folder, ++k->nasked, NULL); /* without it the server only asks again */
    }
    const bool kills = signal_number == SIGTERM && k->nasked > 1 && k->options->is_blunt;
    if (k->command.runs) kill(-k->command.pid, kills ? SIGKILL : signal_number);
}

static void say(const char *log, const char *words)
{
    const int fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return;
    tutti_file_write_all(fd, log, "tutti-server: ", 14, NULL);
    tutti_file_write_all(fd, log, words, strlen(words), NULL);
    tutti_file_write_all(fd, log, "\n", 1, NULL);
    close(fd);
}

static tutti_status start_command(keeper *k, const char *log, tutti_failure *err)
{
    const int fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: cannot be opened", log);
    const tutti_process_options options = {
        .argv = k->options->argv,
        .folder = k->options->working,
        .in = TUTTI_STREAM_NOTHING,
        .out = fd,
        .err = fd,
        .own_group = true,
        .mask = &k->watch.before,
        .dies_with = SIGTERM,
    };
    tutti_status st = tutti_process_start(&options, &k->command, err);
    close(fd);
    return st;
}

/* Runs the command to its end; returns its code. */
static int keep(keeper *k)
{
    char *log = tutti_file_in(k->options->folder, "log");
    tutti_failure failure = {0};
    int code = NOT_STARTED;
    if (start_command(k, log, &failure)) {
        say(log, failure.text);
    } else {
        while (!tutti_process_wait(&k->command, 0)) {
            const int heard = tutti_process_watch_next(&k->watch, 60);
            if (heard) pass_on(k, heard);
        }
        kill(-k->command.pid, SIGKILL); /* what the command has left behind in its group */
        code = k->command.code;
    }
    free(log);
    return code;
}

tutti_status tutti_keeper_run(const tutti_keeper_options *options, tutti_failure *err)
{
    keeper k = {.options = options};
    int lease;
    bool taken;
    setsid(); /* refused to a leader of a process group, which nobody's terminal reaches either */
    /* before anybody can find the lease: a signal must find us listening */
    tutti_process_watch_begin(PASSED, NPASSED, &k.watch);
    tutti_status st = tutti_lease_take(options->folder, &lease, &taken, err);
    if (st || !taken) return st;
    const int code = keep(&k);
    st = tutti_lease_note_end(options->folder, code, err);
    close(lease);
    return st;
}
