/* SPDX-License-Identifier: Apache-2.0 */
/* agents_impl.h: shared by the files of the agents: talk.c (messages), agents.c (follows the leader), takeover.c (finds
 * another leader), leader.c and leader_form.c (lead), and sides.c (which side of a broken network goes on). Threads:
 * owner. */
#ifndef TUTTI_AGENTS_IMPL_H
#define TUTTI_AGENTS_IMPL_H

#include "../launch/address.h"
#include "agents.h"

enum { TUTTI_AGENT_ADDRESS = 64, TUTTI_AGENT_WORDS = 160, TUTTI_AGENTS_MOST = 4096 };

/* ---- messages ---- */

typedef enum {
    TUTTI_AGENT_HELLO = 1, /* from a member (an agent that does not lead): who it is; the first message of a
                            * connection */
    TUTTI_AGENT_REPORT,    /* from a member: what its ranks do; repeated as a sign of life */
    TUTTI_AGENT_HOST,      /* from the leader: one host of the epoch that the next order begins; one message for each
                            * of nhosts hosts */
    TUTTI_AGENT_ORDER,     /* from the leader: what the member is to do; repeated as a sign of life */
} tutti_agent_kind;

/* All messages have this form; agents have the same build, so fields need no byte order of their own. */
typedef struct {
    uint64_t cookie, build;            /* number of the run, and hash of the program; a message with other values ends
                                        * the connection */
    uint64_t job;                      /* HELLO: hash of the job's text */
    uint32_t kind, size;               /* kind: a tutti_agent_kind; size: bytes of this struct */
    int64_t id;                        /* HELLO, HOST: number of the agent, different for each */
    char address[TUTTI_AGENT_ADDRESS]; /* HOST: address at which the agent listens */
    int32_t port;                      /* HELLO, HOST: port of the agent; ORDER: port of rank 0 */
    int32_t nlocal;                    /* HELLO: the most ranks that it starts */
    int32_t index, nhosts;             /* HOST: the host's row in the table, and the number of rows */
    int32_t is_before;                 /* HOST: 1 = the table is tutti_agents.before; 0 = it is tutti_agents.newest */
    int32_t is_whole;                  /* ORDER: 1 = all hosts of the epoch have begun it (the epoch is whole) */
    uint32_t epoch;                    /* the epoch to which the facts, the table or the order belong */
    int32_t left;                      /* HELLO, ORDER: number of losses after which the run may still go on */
    double since_s;                    /* ORDER NEXT: seconds since the loss; negative = there was none */
    tutti_launch_facts facts;          /* REPORT: what the ranks of the sender's host do */
    tutti_launch_order order;          /* ORDER: the order; its pointer and descriptors mean nothing to the receiver */
    char words[TUTTI_AGENT_WORDS];     /* ORDER END: why the run ends */
} tutti_agent_message;

/* A connection to another agent. */
typedef struct {
    int fd; /* descriptor of the socket; -1 = closed */
    size_t nread;
    union {
        char bytes[sizeof(tutti_agent_message)];
        tutti_agent_message message;
    } in;
} tutti_agent_talk;

/* A connection whose HELLO has not come yet. */
typedef struct {
    tutti_agent_talk talk;
    char address[TUTTI_AGENT_ADDRESS]; /* the address from which the connection comes */
    double came_at;                    /* clock time, in seconds, at which the connection was accepted */
} tutti_agent_caller;

/* Opens the sockets on which this agent listens, without waiting in accept. */
tutti_status tutti_agent_listen(tutti_agents *a, tutti_failure *err);
/* Connects within limit_s. False: no connection was made; *refused: no process listens there. */
bool tutti_agent_connect(const char *address, int port, double limit_s, tutti_agent_talk *out, bool *refused);
/* Accepts a connection if one waits; false: none does. */
bool tutti_agent_accept(const tutti_agents *a, tutti_agent_caller *out);
/* Sends a message; closes the connection if sending fails. */
void tutti_agent_send(const tutti_agents *a, tutti_agent_talk *t, tutti_agent_message *m);
/* Receives without waiting. Returns 1: a message is in t->in.message; 0: none; -1: the connection has ended, also
 * because the message was of another run or program. */
int tutti_agent_receive(const tutti_agents *a, tutti_agent_talk *t);
/* Answers the message in t->in.message that its sender must end, and why, and ends the connection. */
void tutti_agent_refuse(const tutti_agents *a, tutti_agent_talk *t, const char *why);
void tutti_agent_hang_up(tutti_agent_talk *t);

/* ---- the agents ---- */

/* A host as the leader sees it. */
typedef struct {
    int64_t id;
    char address[TUTTI_AGENT_ADDRESS];
    int port, nlocal;
    tutti_agent_talk talk; /* connection to the host's agent; closed for the leader's own host */
    bool is_here;          /* true for the leader's own host */
    bool is_lost;          /* true if the connection has ended, or the host was silent for too long */
    bool leaves;           /* true once the host was told to leave the run, because it computes much longer than the
                            * others */
    bool in_epoch;         /* true if the host belongs to the current epoch */
    int base, nranks;      /* number of the host's first rank in the current epoch, and number of its ranks there */
    double heard_at;
    tutti_launch_facts facts;
    tutti_order_kind sent_kind; /* the last order that was sent to the host: its kind, epoch and time */
    uint32_t sent_epoch;
    double sent_at;
} tutti_agent_host;

/* A row of the table of hosts of the last epoch; every agent has a copy of the table. */
typedef struct {
    int64_t id;
    char address[TUTTI_AGENT_ADDRESS];
    int port;
} tutti_agent_entry;

typedef struct {
    tutti_agent_entry *entry; /* rows of the table, the leader's first; on the heap */
    int n;
} tutti_agent_table;

typedef enum { TUTTI_AGENT_FOLLOWS, TUTTI_AGENT_SEEKS, TUTTI_AGENT_LEADS } tutti_agent_role;

struct tutti_agents {
    tutti_agents_options options;
    tutti_agent_role role;
    int64_t id;
    int listeners[TUTTI_ADDRESS_MOST_LISTENERS], nlisteners, port;
    uint32_t epoch;           /* the newest epoch that this agent knows */
    tutti_agent_table newest; /* hosts of that epoch */
    bool is_whole;            /* true once all of these hosts have begun the epoch: then the epoch is whole */
    tutti_agent_table before; /* hosts of the newest whole epoch before that; 0 rows = there was none */
    int left;                 /* number of losses that may still come before the run ends */

    /* fields of an agent that follows a leader or seeks one */
    tutti_agent_talk leader;
    char leader_address[TUTTI_ADDRESS_HOST]; /* the address at which this host reaches the leader */
    double heard_at, sent_at;
    tutti_launch_facts sent; /* the facts of this agent's last report */
    tutti_launch_order last; /* the leader's last order */
    int64_t last_lost_ns;
    int candidate;    /* row in the table of the host that was last asked to lead; 0 = no host was asked in this
                       * epoch */
    double sought_at; /* since when this agent has tried to reach the candidate, in seconds; 0 = not yet */

    /* fields of an agent that leads */
    tutti_agent_host *hosts; /* all known hosts, the leader's own first; heap */
    int nknown;
    tutti_agent_caller *callers; /* connections whose HELLO has not come; on the heap */
    int ncallers;
    int lock;          /* descriptor of the locked file; -1 = this agent does not hold the lock */
    bool formed;       /* true if this agent has formed the newest epoch */
    bool gathers;      /* true while this agent, which took over from a lost leader, waits for the other hosts of the
                        * last epoch */
    double began_at;   /* when this agent began to lead, or when the epoch broke, in seconds */
    bool broken, hard; /* broken: the current epoch is over; hard: its ranks are killed */
    bool saving;       /* true while ranks save their state and end, because the group will grow */
    bool lets_go;      /* true while a host that was told to leave has not left yet */
    uint32_t judged;   /* the last epoch in which a host was found busy; 0 = none was */
    int lost;          /* the rank whose loss broke the epoch; -1 = unknown */
    int64_t lost_ns;
    int world;               /* number of ranks of the newest epoch that this agent has formed; 0 = it has formed
                              * none */
    int rank_port, listener; /* port and socket on which rank 0 of that epoch listens; the socket is kept until the
                              * launcher has a copy, -1 = none */
    bool finishing, ending;
    int code;
    char words[TUTTI_AGENT_WORDS]; /* why the run ends */
};

void tutti_agents_say(const tutti_agents *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* leader.c: begins to lead. took_over: the leader before was lost. */
void tutti_agents_begin_to_lead(tutti_agents *a, bool took_over);
void tutti_agents_lead(tutti_agents *a, const tutti_launch_facts *facts, tutti_launch_order *order);
/* leader_form.c: decides on the next epoch, when all ranks have left the current one. */
void tutti_agents_form(tutti_agents *a);
/* Asks the ranks to save and end, if hosts are here with which the group can grow. */
void tutti_agents_grow(tutti_agents *a);
/* True if the run can go on without this host. */
bool tutti_agents_can_spare(tutti_agents *a, tutti_agent_host *h);
void tutti_agents_end(tutti_agents *a, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- sides.c ---- */

bool tutti_agents_has(const tutti_agent_table *table, int64_t id);
int tutti_agents_count_here(const tutti_agents *a, const tutti_agent_table *table);
void tutti_agents_resize(tutti_agent_table *table, int n);
/* Makes room for a table of n hosts in a->newest. The table that was there becomes a->before if its epoch was whole. */
void tutti_agents_begin_table(tutti_agents *a, int n);
/* Sets is_whole once all hosts of the newest epoch have begun it. */
void tutti_agents_note_taken(tutti_agents *a);
/* True if the hosts that are here are enough to go on: the majority (sides.c). */
bool tutti_agents_suffice(const tutti_agents *a);
/* Ends this side of a broken network. */
void tutti_agents_end_side(tutti_agents *a);
/* Takes the lock of the run's folder if it is free. */
void tutti_agents_try_lock(tutti_agents *a);
/* Fails with TUTTI_ERR_USAGE if another agent holds the lock. */
tutti_status tutti_agents_check_lock(const tutti_agents *a, tutti_failure *err);
/* Writes into the locked file the text by which others join, and the newest epoch with its hosts. */
void tutti_agents_record(const tutti_agents *a);
void tutti_agents_unlock(tutti_agents *a);

/* takeover.c: looks for the next leader. */
void tutti_agents_seek(tutti_agents *a, const tutti_launch_facts *facts, tutti_launch_order *order);
/* agents.c: tells the leader who this agent is. */
void tutti_agents_greet(tutti_agents *a, tutti_agent_talk *t);

#endif
