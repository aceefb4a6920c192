/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h: an engine decides where an attempt runs, starts it, and says whether it lives. The server decides what runs
 * and when; between two calls an engine keeps nothing that a later server could not find again from the attempt's
 * folder and from the handle, a text of the engine's own that the store keeps.
 *
 * A new engine is one file, engine_<name>.c, and its row in engine_table.c. Threads: one at a time. */
#ifndef TUTTI_SERVE_ENGINE_H
#define TUTTI_SERVE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/text/strbuf.h"
#include "tutti/failure.h"

/* An attempt, as the engine is told of it each time. */
typedef struct {
    int64_t job;
    int number;
    const char *folder;      /* absolute path of the attempt's folder, which the keeper makes (lease.h) */
    const char *const *argv; /* the command; ends with NULL. Only for start */
    const char *working;     /* its working folder. Only for start */
    bool is_train;           /* the command is tutti train */
    int least, most;         /* ranks */
    int threads;             /* of a rank */
    const char *handle;      /* what start has said; NULL = nothing is kept */
} tutti_attempt;

typedef enum {
    TUTTI_ATTEMPT_NEVER,   /* nobody has begun it, and nobody is about to */
    TUTTI_ATTEMPT_WAITING, /* it was started and has not begun yet; it can be given up still */
    TUTTI_ATTEMPT_ALIVE,
    TUTTI_ATTEMPT_ENDED,
    TUTTI_ATTEMPT_LOST,    /* it has ended, and nobody knows how */
    TUTTI_ATTEMPT_UNKNOWN, /* the engine cannot be asked at this moment */
} tutti_attempt_state;

typedef struct {
    tutti_attempt_state state;
    int code;        /* ENDED: exit code, or 128 + signal */
    double at;       /* ALIVE: when it began; ENDED: when it ended; seconds since 1970, 0 = not known */
    double seen;     /* ALIVE: when it was last seen to live, seconds since 1970 */
    int nasked;      /* requests to stop (SIGTERM) that have arrived at the attempt */
    char words[200]; /* a cause for people; "" = none */
} tutti_attempt_view;

typedef struct {
    const char *keeper;  /* path of the program tutti-server, whose `keep` runs attempts */
    const char *program; /* path of tutti */
    int cores;           /* how many cores jobs may use */
} tutti_engine_options;

typedef struct {
    const char *name;
    bool has_queue; /* it takes any number of attempts and lets them wait; else the server counts cores */
    /* Makes what the calls below get as `self`. */
    tutti_status (*open)(const tutti_engine_options *options, void **self, tutti_failure *err);
    void (*close)(void *self);
    /* Starts an attempt that poll calls NEVER. It may be called a second time for one attempt, after a server was
     * killed: the attempt begins once all the same. handle: words to be kept; may stay empty. */
    tutti_status (*start)(void *self, const tutti_attempt *a, tutti_strbuf *handle, tutti_failure *err);
    /* Looks at an attempt. What cannot be asked is UNKNOWN with words, and no failure. */
    void (*poll)(void *self, const tutti_attempt *a, tutti_attempt_view *out);
    /* Sends SIGTERM (save and end) or SIGQUIT (report). An attempt that has ended gets nothing; that is no failure. */
    tutti_status (*signal)(void *self, const tutti_attempt *a, int signal_number, tutti_failure *err);
    /* Gives up an attempt that has not begun, so that it never begins. *revoked: false if it has begun. */
    tutti_status (*revoke)(void *self, const tutti_attempt *a, bool *revoked, tutti_failure *err);
} tutti_job_engine;

extern const tutti_job_engine tutti_job_engine_local;
/* NULL: there is no engine of that name. */
const tutti_job_engine *tutti_job_engine_find(const char *name);
void tutti_job_engine_names(tutti_strbuf *out); /* "local, slurm" */

#endif
