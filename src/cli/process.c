/* SPDX-License-Identifier: Apache-2.0 */
/* process.c: standard streams that are there, signals that mean what they mean elsewhere, output that was written.
 *
 * A closed standard stream would give its number to the first file that is opened, and what is printed would go into that file. So its
 * place is taken by /dev/null, opened the other way round: using it fails, as it does with a closed one. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tutti/failure.h"

static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest free number is fd */
}

void tutti_process_begin(void)
{
    open_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit then fails, and the failure names the file */
}

int tutti_process_end(int code)
{
    const int earlier = ferror(stdout);
    errno = 0;
    if (fflush(stdout) == 0 && !earlier) return code;
    fprintf(stderr, "tutti: not all could be written to standard output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return code ? code : TUTTI_ERR_FAILED;
}
