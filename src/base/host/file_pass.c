/* SPDX-License-Identifier: Apache-2.0 */
/* file_pass.c: sends and receives messages over a local socket; a message may carry a file descriptor. */
#include "file_pass.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
} passed_fd;

ssize_t tutti_file_pass_send(int socket, const void *bytes, size_t nbytes, int fd)
{
    struct iovec part = {(void *)(uintptr_t)bytes, nbytes};
    passed_fd control = {0};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        msg.msg_control = control.bytes, msg.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    ssize_t n;
    do n = sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

ssize_t tutti_file_pass_receive(int socket, void *bytes, size_t room, int *fd)
{
    struct iovec part = {bytes, room};
    passed_fd control;
    struct msghdr msg = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t n;
    *fd = -1;
    do n = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(c), sizeof *fd);
    if (n < 0 || !(msg.msg_flags & MSG_TRUNC)) return n;
    if (*fd >= 0) close(*fd);
    *fd = -1;
    errno = EMSGSIZE;
    return -1;
}
