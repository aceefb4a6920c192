/* SPDX-License-Identifier: Apache-2.0 */
/* surroundings.c: prepares the process: opens missing standard streams, resets signals, checks the stack, and reports
 * output that could not be written.
 *
 * If a standard stream is closed, the first file that is opened gets its number, and printed text would go into that
 * file. So /dev/null takes the stream's place: opened only for writing where the program reads, only for reading where
 * it writes. Using the stream then fails, as with a closed one. */
#include "surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) /* open() returns fd, because that is the lowest free number */
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void tutti_surroundings_begin(void)
{
    open_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* when ignored, a write beyond the limit fails, and the failure names the file */
}

/* Raises the stack limit as far as allowed, also for threads to come. If it is still below the minimum, the process
 * ends with a message instead of a signal. */
tutti_status tutti_surroundings_check_stack(tutti_failure *err)
{
    const rlim_t least = 512 << 10, usual = 8 << 20;
    struct rlimit limit;
    pthread_attr_t attr;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= least)
        return TUTTI_OK;
    const struct rlimit soft = {limit.rlim_max < usual ? limit.rlim_max : usual, limit.rlim_max}, both = {usual, usual};
    if (soft.rlim_cur < least && setrlimit(RLIMIT_STACK, &both) != 0)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "the stack may have %llu KiB (ulimit -s), and 512 are needed: run 'ulimit -s 8192' first, where "
            "the hard limit (ulimit -Hs) allows it",
            (unsigned long long)limit.rlim_cur >> 10);
    if (soft.rlim_cur >= least) (void)setrlimit(RLIMIT_STACK, &soft);
    if (pthread_attr_init(&attr) != 0) return TUTTI_OK;
    if (pthread_attr_setstacksize(&attr, usual) == 0) (void)pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
    return TUTTI_OK;
}

int tutti_surroundings_end(int code)
{
    const int earlier = ferror(stdout);
    errno = 0;
    if (fflush(stdout) == 0 && !earlier) return code;
    fprintf(stderr, "tutti: not all could be written to standard output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return code ? code : TUTTI_ERR_FAILED;
}
