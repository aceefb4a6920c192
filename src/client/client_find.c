/* SPDX-License-Identifier: Apache-2.0 */
/* client_find.c: finds the job server by its folder or by what the user says: address and token. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "../base/host/user_folder.h"
#include "client.h"

enum { MOST_LINE = 4096 };

static const double DEADLINE_S = 10, PATIENCE_S = 5;

static char *copy(const char *text)
{
    tutti_strbuf out = {0};
    tutti_strbuf_puts(&out, text);
    return tutti_strbuf_detach(&out);
}

/* Returns the variable's value; NULL: it is not set, or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

tutti_status tutti_client_open(const tutti_client_place *place, tutti_client *out, tutti_failure *err)
{
    const char *home = place->home, *server = place->server,
               *token = place->token_file ? place->token_file : variable("TUTTI_TOKEN_FILE");
    *out = (tutti_client){.deadline_s = DEADLINE_S, .patience_s = PATIENCE_S};
    if (home && server) return tutti_fail(err, TUTTI_ERR_USAGE, "--home and --server: give one of them");
    if (!home && !server) server = variable("TUTTI_SERVER");
    if (server && !token)
        return tutti_fail(err, TUTTI_ERR_USAGE, "the token of %s is wanted: --token-file FILE", server);
    if (server)
        out->server = copy(server);
    else
        out->home = home ? copy(home) : tutti_user_state_folder();
    if (!server && !out->home)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--home DIR is wanted, because $HOME is not set");
    out->token_file = token ? copy(token) : tutti_file_in(out->home, "token");
    return TUTTI_OK;
}

void tutti_client_close(tutti_client *c)
{
    free(c->home);
    free(c->server);
    free(c->token_file);
}

/* Reads a file of one line; the caller frees it. */
static tutti_status read_line(const char *path, char **line, tutti_failure *err)
{
    size_t nbytes;
    tutti_status st = tutti_file_read(path, MOST_LINE, TUTTI_ERR_FAILED, line, &nbytes, err);
    if (st) return st;
    (*line)[strcspn(*line, "\r\n")] = 0;
    for (const char *at = *line; *at && !st; at++)
        if (*at <= ' ' || *at > '~') st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: is not one word on one line", path);
    if (!st && !**line) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: is empty", path);
    if (st) free(*line);
    return st;
}

static tutti_status find_address(const tutti_client *c, char **address, tutti_failure *err)
{
    if (c->server) {
        *address = copy(c->server);
        return TUTTI_OK;
    }
    char *path = tutti_file_in(c->home, "address");
    tutti_status st = TUTTI_OK;
    if (access(path, F_OK) && errno == ENOENT)
        st = tutti_fail(err, TUTTI_ERR_PEER,
                        "no job server runs for the folder %s; `tutti serve` starts one, --home names another folder",
                        c->home);
    if (!st) st = read_line(path, address, err);
    free(path);
    return st;
}

tutti_status tutti_client_find(const tutti_client *c, char **address, char **token, tutti_failure *err)
{
    tutti_status st = find_address(c, address, err);
    if (st) {
        *address = NULL;
        return st;
    }
    st = read_line(c->token_file, token, err);
    if (!st) return TUTTI_OK;
    free(*address);
    *address = NULL;
    return st;
}
