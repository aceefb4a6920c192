/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: keeps jobs, their attempts and events in a file, so that they survive the end of the server.
 *
 * SQLite with a write-ahead log and synchronous=FULL: when a call that changes something returns TUTTI_OK, the change
 * is on the disk. Each such call is one transaction: the change of a job and the event that tells of it are there
 * together or not at all. Times are seconds since 1970. Threads: one at a time. */
#ifndef TUTTI_STORE_H
#define TUTTI_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/arena.h"
#include "tutti/failure.h"

typedef struct tutti_store tutti_store;

/* Opens the file, or makes it (mode 0600). TUTTI_ERR_DATA: a newer version of the program made it; TUTTI_ERR_FAILED: it
 * cannot be opened or written. */
tutti_status tutti_store_open(const char *path, tutti_store **out, tutti_failure *err);
void tutti_store_close(tutti_store *s); /* NULL is accepted */

/* A job. Texts belong to the arena that a call takes; absent texts are NULL. */
typedef struct {
    int64_t id;
    const char *key; /* the key by which the client told its requests apart */
    const char *name, *kind;
    const char *spec; /* NULL in the lists of live jobs, which are read often */
    int priority;
    int stops;    /* a wish since the last start: 1 = that it saves and stops, 2 = that it stops now; 0 = none */
    bool is_gone; /* its folder is being removed, and then the job */
    const char *state;
    bool is_live;       /* the state can still change without a new wish */
    int attempt;        /* number of the last attempt; 0 = none yet */
    const char *handle; /* of the last attempt, kept by tutti_store_keep_handle */
    bool has_code;
    int code;
    const char *cause;
    const char *numbers;            /* last numbers of a run that has ended */
    double created, started, ended; /* started: of the last attempt; 0 = not yet */
} tutti_stored_job;

typedef struct {
    int number;
    const char *engine, *handle, *cause;
    bool has_code;
    int code;
    double started, ended; /* ended: 0 = not yet */
} tutti_stored_attempt;

typedef struct {
    int64_t id, job;
    double at;
    const char *kind, *text; /* kind "state": text is the state */
} tutti_stored_event;

/* Adds a job in the state "queued". from: key (or NULL), name, kind, spec, priority, created. *id: of the new job; if a
 * job has that key already, of that job, and *is_new is false. */
tutti_status tutti_store_add(tutti_store *s, const tutti_stored_job *from, int64_t *id, bool *is_new,
                             tutti_failure *err);
/* Reads a job; *found: whether it exists. */
tutti_status tutti_store_get(tutti_store *s, int64_t id, tutti_arena *arena, tutti_stored_job *out, bool *found,
                             tutti_failure *err);

/* The jobs that a list has; newest jobs come first. */
typedef struct {
    int limit;
    int64_t after;     /* only jobs with smaller ids; 0 = from the newest */
    const char *state; /* only jobs in that state; NULL = all */
} tutti_store_filter;
tutti_status tutti_store_list(tutti_store *s, const tutti_store_filter *filter, tutti_arena *arena,
                              tutti_stored_job **out, int *n, tutti_failure *err);
/* Lists the jobs that are live or being removed: higher priorities first, then older ids. */
tutti_status tutti_store_list_live(tutti_store *s, tutti_arena *arena, tutti_stored_job **out, int *n,
                                   tutti_failure *err);
/* Lists a job's attempts, by number. */
tutti_status tutti_store_attempts(tutti_store *s, int64_t job, tutti_arena *arena, tutti_stored_attempt **out, int *n,
                                  tutti_failure *err);
/* Calls take(arg, state, n) for each state in which there are jobs. */
tutti_status tutti_store_count(tutti_store *s, void (*take)(void *arg, const char *state, int64_t n), void *arg,
                               tutti_failure *err);

/* Begins the job's next attempt: its state becomes "placing". *number: of the attempt. */
tutti_status tutti_store_begin_attempt(tutti_store *s, int64_t job, const char *engine, double at, int *number,
                                       tutti_failure *err);
/* Keeps the words by which an engine finds the attempt again. */
tutti_status tutti_store_keep_handle(tutti_store *s, int64_t job, int number, const char *handle, tutti_failure *err);

/* A new state of a job. */
typedef struct {
    int64_t job;
    int attempt; /* the attempt that this is about: a change of an older one is refused; 0 = of the job alone */
    const char *state;
    bool is_live; /* the state can still change; false: job and attempt have ended */
    bool has_code;
    int code;
    const char *cause;   /* NULL = none */
    const char *numbers; /* NULL = those from before stay */
    double at;
} tutti_store_change;
/* *changed: false if the job is gone or the attempt is not the job's last one; nothing is written then. */
tutti_status tutti_store_move(tutti_store *s, const tutti_store_change *change, bool *changed, tutti_failure *err);

/* Raises a live job's `stops` to this wish; a greater one stays. */
tutti_status tutti_store_ask_stop(tutti_store *s, int64_t job, int stops, tutti_failure *err);
/* Puts a job that has ended into the queue again. */
tutti_status tutti_store_requeue(tutti_store *s, int64_t job, double at, tutti_failure *err);
/* Marks a job for removal, and sets its key free; tutti_store_remove removes it with its attempts, and adds an event
 * "removed". */
tutti_status tutti_store_mark_gone(tutti_store *s, int64_t job, tutti_failure *err);
tutti_status tutti_store_remove(tutti_store *s, int64_t job, double at, tutti_failure *err);

/* Lists events with ids above `after`, oldest first. *n: how many at most; then, how many there are. The newest
 * TUTTI_STORE_EVENTS events are kept. */
enum { TUTTI_STORE_EVENTS = 100000 };
tutti_status tutti_store_events(tutti_store *s, int64_t after, tutti_arena *arena, tutti_stored_event **out, int *n,
                                tutti_failure *err);
int64_t tutti_store_last_event(const tutti_store *s); /* id of the newest event; costs nothing */

/* Transactions so far, and the seconds that they took. */
typedef struct {
    int64_t ntransactions;
    double seconds;
} tutti_store_times;
tutti_store_times tutti_store_told(const tutti_store *s);

#endif
