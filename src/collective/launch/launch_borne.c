/* SPDX-License-Identifier: Apache-2.0 */
/* launch_borne.c: what rank 0 tells its launcher: that it goes on although a rank has died (through a pipe), and that a
 * host is busy (through its link). */
#include <unistd.h>

#include "discover_impl.h"
#include "launch.h"
#include "link.h"

void tutti_launch_tell_borne(void)
{
    long long fd;
    if (tutti_variable_number("TUTTI_LAUNCHER_FD", 0, 1 << 20, -1, &fd, NULL) || fd < 0) return;
    (void)!write((int)fd, "b", 1);
}

void tutti_launch_tell_busy(uint32_t epoch, int rank)
{
    const tutti_link_message m = {.kind = TUTTI_LINK_BUSY, .epoch = epoch, .lost = rank};
    const int fd = tutti_link_of_environment();
    if (fd >= 0) tutti_link_send(fd, &m, -1);
}
