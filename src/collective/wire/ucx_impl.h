/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_impl.h: shared by the files of the wire ucx. Threads: as wire.h.
 *
 * Files: ucx_wire.c (context, endpoints, progress), ucx_devices.c (which devices are meant), ucx_lanes.c (which
 * transports there are), ucx_messages.c (the messages), ucx_library.c (loads the functions). */
#ifndef TUTTI_UCX_IMPL_H
#define TUTTI_UCX_IMPL_H

#include <ucp/api/ucp.h>

#include "../../base/host/library.h"
#include "../../base/text/strbuf.h"
#include "wire_impl.h"
#include "wire_order.h"

/* The functions that are loaded: from libucp, and the last one from libucs. */
#define TUTTI_UCX_FUNCTIONS(_)                                                                                         \
    _(ucp_init_version)                                                                                                \
    _(ucp_get_version)                                                                                                 \
    _(ucp_config_read)                                                                                                 \
    _(ucp_config_modify)                                                                                               \
    _(ucp_config_release)                                                                                              \
    _(ucp_cleanup)                                                                                                     \
    _(ucp_context_print_info)                                                                                          \
    _(ucp_worker_create)                                                                                               \
    _(ucp_worker_destroy)                                                                                              \
    _(ucp_worker_get_address)                                                                                          \
    _(ucp_worker_release_address)                                                                                      \
    _(ucp_worker_set_am_recv_handler)                                                                                  \
    _(ucp_worker_get_efd)                                                                                              \
    _(ucp_worker_arm)                                                                                                  \
    _(ucp_worker_progress)                                                                                             \
    _(ucp_worker_flush_nbx)                                                                                            \
    _(ucp_ep_create)                                                                                                   \
    _(ucp_ep_print_info)                                                                                               \
    _(ucp_ep_close_nbx)                                                                                                \
    _(ucp_am_send_nbx)                                                                                                 \
    _(ucp_am_recv_data_nbx)                                                                                            \
    _(ucp_request_check_status)                                                                                        \
    _(ucp_request_free)                                                                                                \
    _(ucs_status_string)

typedef struct {
    TUTTI_UCX_FUNCTIONS(TUTTI_LIBRARY_POINTER)
} ucx_functions;

enum { TUTTI_UCX_MESSAGE = 0 }; /* the number under which all messages are sent as UCP's active messages */

typedef enum {
    TUTTI_UCX_PUT,
    TUTTI_UCX_WORD,
    TUTTI_UCX_READ,    /* a rank asks for bytes of the receiver's memory */
    TUTTI_UCX_ANSWER,  /* carries the bytes that a read asked for */
    TUTTI_UCX_REFUSAL, /* answers a read of memory that is not enrolled */
} ucx_kind;

/* Head of every message, as it travels. */
typedef struct {
    uint64_t address; /* of a put, word or read: an address in the receiver's memory */
    uint64_t number;  /* of a put: its number; of a word or read: number of the last put before it */
    uint64_t word;    /* of a word: its value; of a read, answer or refusal: number of the read */
    uint64_t nbytes;  /* of a read: bytes wanted */
    int32_t rank;
    uint32_t kind;
} ucx_head;

/* The facts that peers need to connect, as they travel. */
typedef struct {
    uint64_t host;   /* equal for ranks of one kernel, one network namespace and one TUTTI_HOST_ID */
    uint64_t shares; /* 1 if UCX can copy between processes on this host, else 0 */
    char address[];  /* address of the rank's UCP worker */
} ucx_card;

typedef struct {
    ucp_ep_h endpoint; /* UCP's endpoint for the peer; NULL: not connected */
    bool handles;      /* true if the endpoint handles errors: UCX then reports when the connection ends */
    bool one_sided;    /* true if long puts are fetched by a transport that needs no help of the peer's process */
    tutti_wire_order order;
} ucx_peer;

typedef struct {
    tutti_wire wire; /* must stay the first member, because pointers to it are cast to pointers to the whole struct */
    ucx_functions ucx;
    ucp_context_h context;
    ucp_worker_h worker;
    ucx_card *card;
    size_t card_bytes;
    ucx_peer *peers;
    char transports[64]; /* transports to all peers, such as "sysv+posix+cma" */
    char devices[96];    /* devices of the transports that leave the host: "eth0 10.77.0.1+mlx5_0:1" */
    char words[200];     /* memory for the text of `describe` */
    tutti_wire_memory *memories;
    tutti_wire_reads reads;
} ucx_wire;

/* --- ucx_library.c --- */
tutti_status tutti_ucx_load(ucx_functions *out, tutti_failure *err);

/* --- ucx_devices.c --- */
/* Writes UCX's names for the interfaces of a list such as "eth0,ib0": "eth0,ib0,mlx5_0:1", with the cards behind
 * them. */
void tutti_ucx_name_devices(const char *interfaces, tutti_strbuf *out);
/* Writes "eth0 10.77.0.1" for an interface that has an address; other devices keep their name. */
void tutti_ucx_describe_device(const char *device, char out[80]);

/* --- ucx_lanes.c --- */
/* Returns true if TCP is the only transport to other hosts. */
bool tutti_ucx_leaves_host_by_tcp(const ucx_wire *w);
/* Adds the names of all transports of the context: "tcp+sysv+posix+cma". */
void tutti_ucx_list_transports(const ucx_wire *w, char *out, size_t room);
void tutti_ucx_fill_card(ucx_wire *w, const void *address, size_t nbytes);
bool tutti_ucx_shares_memory(const ucx_card *a, const ucx_card *b);
/* Notes the transports that UCX chose for an endpoint that was just made. */
void tutti_ucx_look_at_lanes(ucx_wire *w, ucx_peer *p);

/* --- ucx_messages.c --- */
tutti_put *tutti_ucx_put(tutti_wire *base, int rank, uint64_t address, const void *from, size_t nbytes, bool direct);
size_t tutti_ucx_copied(const tutti_wire *base, int rank, size_t nbytes);
tutti_put *tutti_ucx_put_word(tutti_wire *base, int rank, uint64_t address, uint64_t word);
tutti_put *tutti_ucx_read(tutti_wire *base, int rank, uint64_t address, void *to, size_t nbytes);
tutti_status tutti_ucx_enrol(tutti_wire *base, void *memory, size_t nbytes, tutti_wire_memory **out,
                             tutti_failure *err);
/* Notes that the connection to a peer has ended; the first reason stays. */
void tutti_ucx_break(ucx_wire *w, int rank, ucs_status_t status);
/* Handles the active message; arg: the wire. */
ucs_status_t tutti_ucx_take(void *arg, const void *header, size_t header_length, void *data, size_t length,
                            const ucp_am_recv_param_t *param);

#endif
