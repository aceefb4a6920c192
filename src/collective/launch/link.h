/* SPDX-License-Identifier: Apache-2.0 */
/* link.h: the socket between a launcher that replaces lost ranks and each rank that it has started.
 *
 * The ranks of a run form a group again after each loss. Each time is an epoch of the group, numbered from 1. When an
 * epoch is over because a rank was lost, the remaining ranks tell their launcher. The launcher starts new processes for
 * the lost ranks and tells all ranks where the next epoch gathers.
 *
 * Messages are datagrams of a local socket, so each arrives whole or not at all. Threads: one at a time for each
 * descriptor. */
#ifndef TUTTI_LINK_H
#define TUTTI_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"

typedef enum {
    TUTTI_LINK_JOINED = 1, /* rank: has joined the group of `epoch` */
    TUTTI_LINK_PLAYS,      /* rank: has done its first step of `epoch` */
    TUTTI_LINK_OVER,       /* rank: `epoch` is over for it; `lost`: the rank that it blames, -1 = none */
    TUTTI_LINK_BUSY,       /* rank 0: the host of the rank `lost` computes much longer than the others */
    TUTTI_LINK_BROKEN,     /* launcher: `epoch` will not form; a rank that still joins it gives up */
    TUTTI_LINK_NEXT,       /* launcher: `epoch` gathers at `port`; rank 0 gets the listening socket, too */
} tutti_link_kind;

typedef struct {
    uint32_t kind, epoch;
    /* OVER: the rank that the sender blames; NEXT: the rank whose loss ended the last epoch; BUSY: see there */
    int32_t lost;
    int32_t port;    /* NEXT: port of rank 0 on this host */
    int64_t lost_ns; /* NEXT: when the launcher learned of the loss (tutti_clock_ns) */
} tutti_link_message;

/* Makes both ends, close-on-exec; ends[0] is the launcher's. A message that comes to ends[0] raises SIGIO. */
tutti_status tutti_link_open(int ends[2], tutti_failure *err);
/* Sends a message. passed: a descriptor that the receiver gets a copy of; -1 = none. False: the other side is gone. */
bool tutti_link_send(int fd, const tutti_link_message *m, int passed);
/* Receives without waiting. Returns 1: a message came; 0: none is there; -1: the other side has ended. *passed: the
 * descriptor that came along, which the caller closes; -1 = none. */
int tutti_link_receive(int fd, tutti_link_message *m, int *passed);

/* ---- the rank's side ---- */

/* Returns the descriptor of this rank's link; -1: no launcher started this rank, or that launcher does not replace
 * ranks. */
int tutti_link_of_environment(void);
/* Reads TUTTI_KEEP_FDS: descriptors of two memory files that outlive this process. *samples: for the samples of the
 * data sets; *copies: for copies of the run's state. Both -1 if there are none. */
void tutti_link_kept_files(int *samples, int *copies);
/* Reads TUTTI_EPOCH: the epoch in which this process begins; after the first epoch, also which rank was lost and when
 * (tutti_clock_ns). */
void tutti_link_epoch(uint32_t *epoch, int *lost, int64_t *lost_ns);
/* True if a message of the launcher is waiting to be read. */
bool tutti_link_has_news(int fd);
/* Waits at most limit_s for the message NEXT of an epoch later than `epoch`. TUTTI_ERR_PEER: no such epoch will come:
 * the launcher has ended or gives the run up. *listener: rank 0's listening socket; -1 for other ranks. */
tutti_status tutti_link_wait(int fd, uint32_t epoch, double limit_s, tutti_link_message *out, int *listener,
                             tutti_failure *err);

#endif
