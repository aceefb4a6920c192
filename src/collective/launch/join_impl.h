/* SPDX-License-Identifier: Apache-2.0 */
/* join_impl.h: declarations that the files of the rendezvous share. */
#ifndef TUTTI_JOIN_IMPL_H
#define TUTTI_JOIN_IMPL_H

#include "../../base/host/cores.h"
#include "../group/group_impl.h"
#include "address.h"
#include "join.h"

typedef struct {
    char host[TUTTI_HOST_TEXT], boot_id[40], host_id[TUTTI_HOST_TEXT], version[32], isa[16];
    uint64_t cookie, netns, build;
    int32_t rank, nranks, pid;
    uint32_t protocol;
    char mesh_name[32]; /* name of the rank's listening socket (abstract, without the leading '\0') */
    char wire[16];      /* wire that TUTTI_WIRE asks for; "" = any wire that joins the ranks */
    int32_t ncores;     /* number of cores of the rank's machine: rank 0 sets this field (tutti_hello_unite_cores) */
} tutti_hello;

/* A rank's cores and quota, which it tells only to rank 0, beside the hello. */
typedef struct {
    tutti_core_set own;
    tutti_core_quota quota;
} tutti_hello_cores;

void tutti_hello_fill(tutti_hello *h, const tutti_group_config *config);
void tutti_hello_fill_cores(tutti_hello_cores *c);
/* Sets ncores of each hello: the number of cores in the union of its machine's ranks, at most the sum of the quotas of
 * their control groups. */
void tutti_hello_unite_cores(tutti_hello *hellos, const tutti_hello_cores *cores, int nranks);
/* Ends every text of a hello that came over a socket with '\0'. */
void tutti_hello_terminate(tutti_hello *h);
/* Numbers the hosts and counts the ranks of this machine: sets hosts, nhosts, nmachine. */
void tutti_hello_number_hosts(tutti_group *g, const tutti_hello *hellos);
/* Compares two ranks. Returns TUTTI_OK, or TUTTI_ERR_RENDEZVOUS with both values. */
tutti_status tutti_hello_compare(const tutti_hello *zero, const char *zero_print, const tutti_hello *other,
                                 const char *other_print, tutti_failure *err);
/* Opens a listening mesh socket with a name of the kernel's choice. */
int tutti_mesh_listen(char name[32], int backlog);
/* Connects all ranks of this host by sockets and swaps their doorbells (eventfds). Closes `listener`. */
tutti_status tutti_mesh_connect(tutti_group *g, int listener, const tutti_hello *hellos, tutti_failure *err);

enum { TUTTI_HELLO_MAX = 1 << 20 };

typedef struct {
    const tutti_group_config *config;
    tutti_address master; /* address in config->master_addr */
    tutti_hello hello;
    uint32_t epoch;      /* epoch of the group, which each message carries */
    tutti_hello *hellos; /* hellos of all ranks */
    tutti_hello_cores *cores;
    int mesh_listener;
    double until, tell_at; /* time of the deadline, and of the next notice */
    double looked_at;      /* when the clock was last read */
} tutti_joining;

/* The message of a rank to rank 0. */
typedef struct {
    tutti_hello hello;
    tutti_hello_cores cores;
    char fingerprint[]; /* the rank's fingerprint (join.h), which is the rest of the frame */
} tutti_join_body;

void tutti_join_begin_wait(tutti_joining *j, double tell_after_s);
/* Returns true if the deadline has passed; ask at least once a second. */
bool tutti_join_is_late(tutti_joining *j);
/* Returns true if the configuration's gives_up ends the wait. */
bool tutti_join_is_given_up(const tutti_joining *j);
/* Returns the milliseconds to sleep until the deadline or the next notice, at most a second. */
int tutti_join_slice_ms(const tutti_joining *j);
/* Returns true if the config has a notice and it is due; the next notice is then due 15 s later. */
bool tutti_join_is_time_to_tell(tutti_joining *j);
void tutti_join_send(const tutti_joining *j, int fd, uint32_t kind, const void *body, size_t nbytes);

/* These functions join as rank 0 or as another rank. They fill j->hellos and set the control sockets of the peers. */
tutti_status tutti_join_as_zero(tutti_group *g, tutti_joining *j, tutti_failure *err);
tutti_status tutti_join_as_other(tutti_group *g, tutti_joining *j, tutti_failure *err);

#endif
