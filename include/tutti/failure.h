/* SPDX-License-Identifier: Apache-2.0 */
/* failure.h: a failure carries its status and its words.
 *
 * Implemented in src/base/failure.c. Every call that can fail returns a tutti_status and takes a tutti_failure * as its
 * last argument. The function that first knows the cause writes the text (what, where, what to do); callers prepend
 * where they were ("job.yaml: line 4: ..."). Outputs are written only on success; after a failed create or init there
 * is nothing to release. The library never prints and never exits.
 *
 * Threads: one at a time for each tutti_failure. */
#ifndef TUTTI_FAILURE_H
#define TUTTI_FAILURE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The values are the exit codes of the tutti program. */
typedef enum {
    TUTTI_OK = 0,
    TUTTI_ERR_FAILED = 1,     /* the call ran and failed: I/O, memory, a check that does not hold */
    TUTTI_ERR_USAGE = 2,      /* usage or configuration: the caller can correct it */
    TUTTI_ERR_DATA = 3,       /* a data set, model file, checkpoint or schedule file is wrong */
    TUTTI_ERR_PEER = 4,       /* a peer is lost, or a deadline passed */
    TUTTI_ERR_RENDEZVOUS = 5, /* the ranks could not find each other or disagree */
} tutti_status;

typedef struct {
    tutti_status status;
    char text[1000];
} tutti_failure; /* zero-initialise; the caller owns it */

/* Sets status and text and returns status, so that `return tutti_fail(err, TUTTI_ERR_DATA, ...)` works.
 * err may be NULL. */
tutti_status tutti_fail(tutti_failure *err, tutti_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "where: " in front of the text and returns err's status (TUTTI_ERR_FAILED if err is NULL). */
tutti_status tutti_fail_at(tutti_failure *err, const char *where_format, ...) __attribute__((format(printf, 2, 3)));

/* "failed", "usage", ...: one word for each status. Never NULL. */
const char *tutti_status_name(tutti_status status);

#ifdef __cplusplus
}
#endif
#endif
