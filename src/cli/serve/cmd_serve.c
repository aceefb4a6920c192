/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_serve.c: `tutti serve`: becomes tutti-server, the program of the job server, which lies beside this one. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/host/program.h"
#include "../../base/process.h"
#include "serve_cmd.h"

static const tutti_flag flags[] = {
    {"home", "DIR", "the server's folder (default: $TUTTI_HOME, else ~/.local/state/tutti)", 0},
    {"port", "N", "where it listens (default 7117; 0 = any)", 0},
    {"address", "A", "listen there and not on loopback alone; wants --token-file (docs/serving.md)", 0},
    {"token-file", "FILE", "the token is in FILE, and not drawn", TUTTI_FLAG_READS},
    {"cores", "N", "jobs may keep N cores busy (default: the cores that this process may use)", 0},
    {"engine", "NAME", "where jobs run (default local: on this host)", 0},
    {"allow-host", "NAME", "one more name that the Host header may have: of a proxy in front", 0},
    {"link", NULL, "start nothing: print the page's address with the token, of the server that runs", 0},
};

static const char about[] =
    "Starts the job server: it keeps jobs, runs them when cores are free, and shows them on a page. Its first line\n"
    "on a terminal is a link to the page with the token; the part behind '#' stays in the browser. It listens on\n"
    "loopback alone. Killing the server stops no job: the next one takes them up. It ends with Ctrl-C or SIGTERM.";

static const char NAME[] = "tutti-server";

/* Prints the address of the page of the server that runs. */
static tutti_status print_link(const tutti_flags *f, tutti_failure *err)
{
    tutti_client client;
    char *address, *token;
    tutti_status st = tutti_serve_client(f, &client, err);
    if (st) return st;
    st = tutti_client_find(&client, &address, &token, err);
    if (!st) {
        printf("%s/#token=%s\n", address, token);
        free(address);
        free(token);
    }
    tutti_client_close(&client);
    return st;
}

static tutti_status find_programs(char server[PATH_MAX], char own[PATH_MAX], tutti_failure *err)
{
    const ssize_t n = readlink(TUTTI_PROCESS_SELF, own, PATH_MAX - 1);
    if (n <= 0) return tutti_fail(err, TUTTI_ERR_FAILED, TUTTI_PROCESS_SELF ": %s", strerror(errno));
    own[n] = 0;
    if (tutti_program_beside(NAME, server)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED,
                      "%s is not here: it is built where libmicrohttpd and SQLite are (./dev setup, then ./dev build)",
                      NAME);
}

/* Becomes the server. Returns only if that fails. */
static tutti_status become(const tutti_flags *f, tutti_failure *err)
{
    static const char *const passed[] = {"home", "port", "address", "token-file", "cores", "engine", "allow-host"};
    enum { NPASSED = sizeof passed / sizeof *passed };
    char server[PATH_MAX], own[PATH_MAX], word[NPASSED][32];
    const char *argv[4 + 2 * NPASSED];
    int n = 0;
    const tutti_status st = find_programs(server, own, err);
    if (st) return st;
    argv[n++] = server;
    argv[n++] = "--program";
    argv[n++] = own;
    for (int i = 0; i < NPASSED; i++) {
        const char *value = tutti_cli_value(f, passed[i], NULL);
        if (!value) continue;
        snprintf(word[i], sizeof word[i], "--%s", passed[i]);
        argv[n++] = word[i];
        argv[n++] = value;
    }
    argv[n] = NULL;
    fflush(stdout);
    execv(server, (char *const *)(uintptr_t)argv); /* the cast is safe: execv writes to none of them */
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: %s", server, strerror(errno));
}

static tutti_status run(const tutti_flags *f, tutti_failure *err)
{
    long number;
    tutti_status st = tutti_cli_int(f, "port", (tutti_cli_range){0, 65535}, 0, &number, err);
    if (!st) st = tutti_cli_int(f, "cores", (tutti_cli_range){1, 1 << 20}, 1, &number, err);
    if (!st && tutti_cli_value(f, "home", "x")[0] == 0)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--home: a folder is missing");
    if (st) return st;
    return tutti_cli_has(f, "link") ? print_link(f, err) : become(f, err);
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "serve", .usage = "tutti serve [options]", .about = about, TUTTI_CLI_FLAGS(flags), .run = run};
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_serve = {"serve", "start the job server and its page", run_command};
