/* SPDX-License-Identifier: Apache-2.0 */
/* launch_borne.c: tells the launcher, through a pipe, that rank 0 goes on although a rank has died. */
#include <unistd.h>

#include "discover_impl.h"
#include "launch.h"

void tutti_launch_tell_borne(void)
{
    long long fd;
    if (tutti_variable_number("TUTTI_LAUNCHER_FD", 0, 1 << 20, -1, &fd, NULL) || fd < 0) return;
    (void)!write((int)fd, "b", 1);
}
