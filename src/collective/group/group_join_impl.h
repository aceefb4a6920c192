/* SPDX-License-Identifier: Apache-2.0 */
/* group_join_impl.h: what the files of the rendezvous share: group_join.c (before and after), group_join_zero.c (rank 0 collects the
 * others), group_join_other.c (they find it). */
#ifndef TUTTI_GROUP_JOIN_IMPL_H
#define TUTTI_GROUP_JOIN_IMPL_H

#include "group_impl.h"

enum { TUTTI_HELLO_MAX = 1 << 20 };

typedef struct {
    const tutti_group_config *config;
    tutti_hello hello;
    tutti_hello *hellos; /* nranks */
    tutti_hello_cores *cores;
    int mesh_listener;
    double until, tell_at; /* the deadline, the next notice */
} tutti_joining;

/* What a rank says to rank 0. */
typedef struct {
    tutti_hello hello;
    tutti_hello_cores cores;
    char fingerprint[]; /* to the end of the frame */
} tutti_join_body;

void tutti_join_begin_wait(tutti_joining *j, double tell_after_s);
/* Milliseconds that may be slept until the deadline or the next notice, of a second at most. */
int tutti_join_slice_ms(const tutti_joining *j);
/* Somebody listens, and it has lasted; the next time will be a while later. */
bool tutti_join_is_time_to_tell(tutti_joining *j);
void tutti_join_send(int fd, uint32_t kind, const void *body, size_t nbytes);

/* They fill hellos and set the control sockets of the peers. */
tutti_status tutti_join_as_zero(tutti_group *g, tutti_joining *j, tutti_failure *err);
tutti_status tutti_join_as_other(tutti_group *g, tutti_joining *j, tutti_failure *err);

#endif
