/* SPDX-License-Identifier: Apache-2.0 */
/* file_pass.h: sends and receives messages over a local socket; a message may carry a file descriptor. Threads: one at
 * a time for each socket. */
#ifndef TUTTI_BASE_FILE_PASS_H
#define TUTTI_BASE_FILE_PASS_H

#include <stddef.h>
#include <sys/types.h>

/* Sends one message without waiting. fd: a descriptor of which the receiver gets a copy; -1 = none. Returns the number
 * of bytes that were sent; -1 with errno. */
ssize_t tutti_file_pass_send(int socket, const void *bytes, size_t nbytes, int fd);
/* Receives one message without waiting. *fd: the descriptor that came with it, which the caller closes; -1 = none.
 * Returns the bytes of the message; 0: the other side has closed the socket; -1 with errno, EMSGSIZE for a message of
 * more than `room` bytes. */
ssize_t tutti_file_pass_receive(int socket, void *bytes, size_t room, int *fd);

#endif
