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

/* Functions of libucp and, the last one, of libucs. */
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

enum { TUTTI_UCX_MESSAGE = 0 }; /* number of UCP's active message; all messages use this one */

typedef enum {
    TUTTI_UCX_PUT,
    TUTTI_UCX_WORD,
    TUTTI_UCX_READ,    /* asks for bytes */
    TUTTI_UCX_ANSWER,  /* carries the bytes that were asked for */
    TUTTI_UCX_REFUSAL, /* says that no such memory is enrolled */
} ucx_kind;

/* Head of every message: wire format. */
typedef struct {
    uint64_t address; /* put, word, read: in memory of the receiver of the message */
    uint64_t number;  /* put: its number; word, read: number of the last put before it */
    uint64_t word;    /* word: its value; read, answer, refusal: number of the read */
    uint64_t nbytes;  /* read: bytes wanted */
    int32_t rank;
    uint32_t kind;
} ucx_head;

/* The facts that peers need to connect: wire format. */
typedef struct {
    uint64_t host;   /* equal for ranks of one kernel, one network namespace and one TUTTI_HOST_ID */
    uint64_t shares; /* UCX can copy between processes on this host */
    char address[];  /* address of the worker */
} ucx_card;

typedef struct {
    ucp_ep_h endpoint; /* NULL: not connected */
    bool handles;      /* true if the endpoint handles errors: UCX then reports when the connection ends */
    bool one_sided;    /* long puts are fetched by a transport that needs no help of the peer */
    tutti_wire_order order;
} ucx_peer;

typedef struct {
    tutti_wire wire; /* stays the first member: pointers to it are pointers to the whole */
    ucx_functions ucx;
    ucp_context_h context;
    ucp_worker_h worker;
    ucx_card *card;
    size_t card_bytes;
    ucx_peer *peers;
    char transports[64]; /* transports to all peers, such as "sysv+posix+cma" */
    char devices[96];    /* devices of the transports that leave the host: "eth0 10.77.0.1+mlx5_0:1" */
    char words[200];     /* memory of `describe` */
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
