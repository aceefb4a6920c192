/* SPDX-License-Identifier: Apache-2.0 */
/* ask_program.c: runs a program for its version, and keeps what it prints. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../base/host/program.h"
#include "../base/process.h"
#include "doctor_impl.h"

static const double LIMIT_S = 0.5;

/* Reads the child's answer from the pipe after the child's end. The answer fits into the pipe, so nobody need read
 * while the child runs. */
static void read_answer(int fd, char out[TUTTI_ANSWER])
{
    size_t n = 0;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    for (ssize_t got; n < TUTTI_ANSWER - 1 && (got = read(fd, out + n, TUTTI_ANSWER - 1 - n)) > 0;) n += (size_t)got;
    out[n] = '\0';
}

tutti_doctor_answer tutti_doctor_ask(const char *name, const char *argument, char out[TUTTI_ANSWER])
{
    const char *const argv[] = {name, argument, NULL};
    int ends[2];
    tutti_process child;
    out[0] = '\0';
    if (!tutti_program_exists(name)) return TUTTI_PROGRAM_ABSENT;
    if (pipe2(ends, O_CLOEXEC)) return TUTTI_PROGRAM_FAILS;
    const tutti_process_options options = {.argv = argv, .in = TUTTI_STREAM_NOTHING, .out = ends[1], .err = ends[1]};
    const bool started = !tutti_process_start(&options, &child, NULL);
    const bool ended = started && tutti_process_wait(&child, LIMIT_S);
    if (started && !ended) {
        tutti_process_kill(&child);
        snprintf(out, TUTTI_ANSWER, "no answer within half a second");
    }
    if (ended) read_answer(ends[0], out);
    close(ends[0]), close(ends[1]);
    return ended && child.code == 0 ? TUTTI_PROGRAM_ANSWERS : TUTTI_PROGRAM_FAILS;
}
