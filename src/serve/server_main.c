/* SPDX-License-Identifier: Apache-2.0 */
/* server_main.c: the program tutti-server: reads flags, opens the server, and runs its loop; or keeps one attempt.
 *
 * The server is one thread: requests, looks at jobs and signals take turns. So nothing is locked, and what a request
 * reads is what the last look has left. */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/file.h"
#include "../base/host/cores.h"
#include "../base/host/program.h"
#include "../base/host/user_folder.h"
#include "../base/process.h"
#include "attempt/keeper.h"
#include "job_server.h"

/* Seconds between two looks at jobs, between two wakes of streams, and until the same trouble is told again. */
static const double TICK_S = 0.2, WAKE_S = 1, TROUBLE_S = 60;
enum { PORT = 7117, MOST_PORT = 65535 };

static const char HELP[] =
    "usage: tutti-server [--home DIR] [--port N] [--engine NAME] [--cores N] [--program TUTTI]\n"
    "                    [--address IP --token-file FILE] [--allow-host NAME]\n"
    "\n"
    "Serves jobs until SIGTERM or SIGINT; the jobs go on. `tutti serve` starts it.\n"
    "\n"
    "  --home DIR         the server's folder (default $TUTTI_HOME, $XDG_STATE_HOME/tutti, ~/.local/state/tutti)\n"
    "  --port N           where it listens; 0: any port (default 7117)\n"
    "  --address IP       another address than 127.0.0.1; wants --token-file\n"
    "  --token-file FILE  the token that may do everything, one line, instead of the one that is drawn\n"
    "  --allow-host NAME  one more name in the Host header: of a proxy in front\n"
    "  --engine NAME      where jobs run (default local)\n"
    "  --cores N          engine local: cores that jobs may use together (default: all that this process may use)\n"
    "  --program TUTTI    the program that trains (default: tutti beside this program, else on $PATH)\n"
    "\n"
    "exit codes: 0 ended by a signal; 1 failed; 2 usage, another server, or a network file system; 3 a newer store\n";

typedef struct {
    const char *home, *address, *token_file, *host, *engine, *program;
    int port, cores;
} flags;

/* ---- flags ---- */

static tutti_status read_number(const char *flag, const char *text, int lo, int hi, int *out, tutti_failure *err)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || value < lo || value > hi)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--%s: a whole number from %d to %d is wanted", flag, lo, hi);
    *out = (int)value;
    return TUTTI_OK;
}

/* Reads the flags. *done: what was asked for has been answered. */
static tutti_status read_flags(int argc, char **argv, flags *f, bool *done, tutti_failure *err)
{
    static const struct option known[] = {
        {"home", 1, NULL, 'h'},       {"port", 1, NULL, 'p'},       {"address", 1, NULL, 'a'},
        {"token-file", 1, NULL, 't'}, {"allow-host", 1, NULL, 'o'}, {"engine", 1, NULL, 'e'},
        {"cores", 1, NULL, 'c'},      {"program", 1, NULL, 'g'},    {"help", 0, NULL, 'H'},
        {"version", 0, NULL, 'V'},    {NULL, 0, NULL, 0},
    };
    tutti_status st = TUTTI_OK;
    *f = (flags){.address = "127.0.0.1", .engine = "local", .port = PORT, .cores = tutti_cores_usable()};
    *done = false;
    for (int c; !st && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'h': f->home = optarg; break;
        case 'p': st = read_number("port", optarg, 0, MOST_PORT, &f->port, err); break;
        case 'a': f->address = optarg; break;
        case 't': f->token_file = optarg; break;
        case 'o': f->host = optarg; break;
        case 'e': f->engine = optarg; break;
        case 'c': st = read_number("cores", optarg, 1, TUTTI_MOST_CORES, &f->cores, err); break;
        case 'g': f->program = optarg; break;
        case 'H': *done = fputs(HELP, stdout) >= 0; break;
        case 'V': *done = printf("tutti-server %s\n", TUTTI_VERSION) > 0; break;
        default: st = tutti_fail(err, TUTTI_ERR_USAGE, "tutti-server --help lists the flags");
        }
    }
    if (!st && optind < argc) st = tutti_fail(err, TUTTI_ERR_USAGE, "unexpected argument '%s'", argv[optind]);
    return st;
}

static bool is_loopback(const char *address)
{
    return !strncmp(address, "127.", 4) || !strcmp(address, "::1");
}

/* ---- opening ---- */

/* Returns the path of tutti: the one that is named, or beside this program, or on $PATH. The caller frees it. NULL: the
 * named one does not exist. */
static char *find_program(const char *named)
{
    char beside[PATH_MAX];
    if (named) return tutti_file_resolve(named);
    return tutti_program_beside("tutti", beside) ? tutti_file_resolve(beside) : strdup("tutti");
}

static tutti_status open_guard(tutti_job_server *s, const flags *f, tutti_failure *err)
{
    tutti_guard *g = &s->guard;
    g->name = f->host;
    if (!is_loopback(f->address)) snprintf(g->address, sizeof g->address, "%s", f->address);
    if (*g->address && !f->token_file)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--address %s: others can reach it, so --token-file FILE is wanted, and a proxy with TLS in "
                          "front of it",
                          f->address);
    tutti_status st = f->token_file ? tutti_serve_read_token(f->token_file, g->operate, sizeof g->operate, err)
                                    : tutti_serve_home_token(&s->home, "token", g->operate, sizeof g->operate, err);
    return st ? st : tutti_serve_home_token(&s->home, "token-read", g->read, sizeof g->read, err);
}

static tutti_status open_jobs(tutti_job_server *s, const flags *f, tutti_failure *err)
{
    tutti_strbuf engines = {0};
    tutti_jobs_options o = {.store = s->store, .engine = tutti_job_engine_find(f->engine)};
    if (!o.engine) {
        tutti_job_engine_names(&engines);
        tutti_status st = tutti_fail(err, TUTTI_ERR_USAGE, "--engine %s: there is %s", f->engine, engines.text);
        tutti_strbuf_release(&engines);
        return st;
    }
    char *program = find_program(f->program), *folder = tutti_serve_home_file(&s->home, "jobs");
    tutti_status st = TUTTI_OK;
    if (!program) st = tutti_fail(err, TUTTI_ERR_USAGE, "--program %s: not found", f->program);
    /* both texts live as long as the process */
    o.engine_options = (tutti_engine_options){.keeper = TUTTI_PROCESS_SELF, .program = program, .cores = f->cores};
    o.folder = folder;
    s->engine = f->engine;
    s->cores = f->cores;
    return st ? st : tutti_jobs_open(&o, &s->jobs, err);
}

static tutti_status open_http(tutti_job_server *s, const flags *f, tutti_failure *err)
{
    const tutti_http_options options = {.address = f->address,
                                        .port = f->port,
                                        .routes = tutti_api_routes,
                                        .nroutes = tutti_api_nroutes,
                                        .arg = s,
                                        .guard = &s->guard};
    char address[128];
    tutti_status st = tutti_http_open(&options, &s->http, err);
    if (st) return st;
    snprintf(address, sizeof address, strchr(f->address, ':') ? "http://[%s]:%d" : "http://%s:%d", f->address,
             tutti_http_port(s->http));
    st = tutti_serve_home_tell(&s->home, address, err);
    if (st) return st;
    const bool links = isatty(STDOUT_FILENO); /* a file that keeps this output would keep the token */
    printf("tutti-server: %s%s%s\n", address, links ? "/#token=" : "", links ? s->guard.operate : "");
    if (!links) printf("tutti-server: token in %s\n", f->token_file ? f->token_file : "the file `token` of its folder");
    printf("tutti-server: folder %s, engine %s, %d cores\n", s->home.path, s->engine, s->cores);
    fflush(stdout);
    return TUTTI_OK;
}

static tutti_status open_server(tutti_job_server *s, const flags *f, tutti_failure *err)
{
    char *home = f->home ? strdup(f->home) : tutti_user_state_folder();
    if (!home) return tutti_fail(err, TUTTI_ERR_USAGE, "no folder is known: --home DIR, or $HOME, is wanted");
    tutti_status st = tutti_serve_home_open(home, &s->home, err);
    free(home);
    if (st) return st;
    char *file = tutti_serve_home_file(&s->home, "store.sqlite");
    s->started = tutti_clock_wall_s();
    st = open_guard(s, f, err);
    if (!st) st = tutti_store_open(file, &s->store, err);
    if (!st) st = open_jobs(s, f, err);
    if (!st) st = tutti_jobs_tick(s->jobs, err); /* states are right before the first answer */
    if (!st) st = open_http(s, f, err);
    free(file);
    return st;
}

static void close_server(tutti_job_server *s)
{
    tutti_http_close(s->http);
    tutti_jobs_close(s->jobs);
    tutti_store_close(s->store);
    tutti_serve_home_close(&s->home);
}

/* ---- the loop ---- */

/* Looks at the jobs and tells streams of what is new. */
static void look_at_jobs(tutti_job_server *s, double *told)
{
    tutti_failure err = {0};
    const int64_t events = tutti_store_last_event(s->store), news = tutti_jobs_last_news(s->jobs);
    s->is_due = false;
    s->has_trouble = tutti_jobs_tick(s->jobs, &err) != TUTTI_OK;
    const double now = tutti_clock_s();
    if (s->has_trouble && now >= *told + TROUBLE_S) {
        fprintf(stderr, "tutti-server: %s\n", err.text);
        *told = now;
    }
    if (events != tutti_store_last_event(s->store) || news != tutti_jobs_last_news(s->jobs)) tutti_http_wake(s->http);
}

/* Serves until a signal asks for the end. signals: a descriptor from which they are read. */
static void run(tutti_job_server *s, int signals)
{
    double next = 0, wake = 0, told = -TROUBLE_S;
    for (;;) {
        const double now = tutti_clock_s();
        if (s->is_due || now >= next) {
            look_at_jobs(s, &told);
            next = tutti_clock_s() + TICK_S;
        }
        if (now >= wake) {
            tutti_http_wake(s->http); /* so that streams say that they are there */
            wake = now + WAKE_S;
        }
        tutti_http_run(s->http);
        struct pollfd ready[] = {{.fd = tutti_http_descriptor(s->http), .events = POLLIN},
                                 {.fd = signals, .events = POLLIN}};
        const double left = next - tutti_clock_s();
        const double limit = s->is_due ? 0 : tutti_http_limit(s->http, left > 0 ? left : 0);
        poll(ready, 2, (int)(limit * 1e3) + (limit > 0));
        struct signalfd_siginfo info;
        while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
            if (info.ssi_signo != SIGCHLD) return;
            s->is_due = true; /* a keeper has ended */
        }
    }
}

static tutti_status serve(const flags *f, tutti_failure *err)
{
    static const int heard[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    tutti_job_server *s = calloc(1, sizeof *s); /* its sessions are too much for the stack */
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++) sigaddset(&set, heard[i]);
    const int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    sigaddset(&set, SIGPIPE); /* blocked and not ignored: jobs would inherit that */
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (!s || signals < 0) {
        free(s);
        return tutti_fail(err, TUTTI_ERR_FAILED, "no memory, or no signals can be heard");
    }
    tutti_status st = open_server(s, f, err);
    if (!st) run(s, signals);
    close_server(s);
    close(signals);
    free(s);
    return st;
}

/* tutti-server keep --gentle|--blunt FOLDER WORKING-FOLDER -- PROGRAM ARGUMENTS */
static tutti_status keep(int argc, char **argv, tutti_failure *err)
{
    if (argc < 7 || strcmp(argv[5], "--"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "keep --gentle|--blunt FOLDER WORKING-FOLDER -- PROGRAM ARGUMENTS");
    const tutti_keeper_options options = {.is_blunt = !strcmp(argv[2], "--blunt"),
                                          .folder = argv[3],
                                          .working = argv[4],
                                          .argv = (const char *const *)argv + 6};
    return tutti_keeper_run(&options, err);
}

int main(int argc, char **argv)
{
    tutti_failure err = {0};
    flags f;
    bool done = false;
    const bool keeps = argc > 1 && !strcmp(argv[1], "keep");
    tutti_status st = keeps ? keep(argc, argv, &err) : read_flags(argc, argv, &f, &done, &err);
    if (!st && !keeps && !done) st = serve(&f, &err);
    if (st) fprintf(stderr, "tutti-server: %s\n", err.text);
    return (int)st;
}
