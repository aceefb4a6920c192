/* SPDX-License-Identifier: Apache-2.0 */
/* serve_cmd.h: what the commands share that ask the job server about jobs by number. Threads: one at a time. */
#ifndef TUTTI_CLI_SERVE_CMD_H
#define TUTTI_CLI_SERVE_CMD_H

#include "../../client/client.h"
#include "../cli.h"

/* The rows that every command has which asks the server. */
#define TUTTI_CLIENT_FLAGS                                                                                             \
    {"home", "DIR", "the server's folder (default: $TUTTI_HOME, else ~/.local/state/tutti)", 0},                       \
        {"server", "URL", "where the server is, if it is not of this folder: http://HOST:PORT ($TUTTI_SERVER)", 0},    \
    {                                                                                                                  \
        "token-file", "FILE", "... and the file with its token ($TUTTI_TOKEN_FILE)", TUTTI_FLAG_READS                  \
    }

/* Opens a client by the flags TUTTI_CLIENT_FLAGS. */
tutti_status tutti_serve_client(const tutti_flags *f, tutti_client *out, tutti_failure *err);

/* Reads the number of a job. */
tutti_status tutti_serve_read_id(const char *text, int64_t *out, tutti_failure *err);
/* Asks the server for one job. *view borrows from *json, which the caller frees by tutti_server_answer_free. */
tutti_status tutti_serve_get_job(tutti_client *c, int64_t id, tutti_server_answer **json, tutti_job_view *view,
                                 tutti_failure *err);
/* The request that a command sends for each job. */
typedef struct {
    const char *method; /* "POST" or "DELETE" */
    const char *verb;   /* end of the path, "/stop"; "" for none */
    const char *body;   /* JSON; NULL: none */
} tutti_job_action;
/* Sends one request for each job that the arguments name, in order, and prints the answers as lines. Ends at the first
 * failure. */
tutti_status tutti_serve_each(const tutti_flags *f, const tutti_job_action *action, tutti_failure *err);

/* ---- what is submitted ---- */

/* Appends the JSON of a submission: the job at `path` as it is now, resolved, with its model file. f: the flags of
 * `tutti submit`. */
tutti_status tutti_submission_of_job(const tutti_flags *f, const char *path, tutti_strbuf *body, tutti_failure *err);
/* Appends the JSON of a submission of any command, in the working folder. argv ends with NULL. */
tutti_status tutti_submission_of_command(const tutti_flags *f, char *const *argv, tutti_strbuf *body,
                                         tutti_failure *err);

#endif
