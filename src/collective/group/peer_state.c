/* SPDX-License-Identifier: Apache-2.0 */
/* peer_state.c: asks the system whether a rank that has not arrived is stopped, running or asleep. A stopped process
 * (SIGSTOP, a debugger) keeps all its sockets open, so only the system knows whether a process is stopped or slow. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "group_impl.h"

/* Returns the process number as this process sees it, whatever container the rank runs in; the socket knows it. 0 =
 * invisible from here. */
static int pid_of(const tutti_group *g, int rank)
{
    struct ucred who = {0};
    socklen_t length = sizeof who;
    const int mesh = g->peers[rank].mesh;
    if (g->thread_boards || mesh < 0 || getsockopt(mesh, SOL_SOCKET, SO_PEERCRED, &who, &length)) return 0;
    return (int)who.pid;
}

/* Returns the letter in /proc/PID/stat: "pid (name) S ...", where the name may hold any characters. 0 = unknown. */
static char state_of(int pid)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = pid > 0 ? fopen(path, "re") : NULL;
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

bool tutti_peer_is_stopped(const tutti_group *g, int rank)
{
    const char state = state_of(pid_of(g, rank));
    return state == 'T' || state == 't';
}

bool tutti_group_has_stopped(const tutti_group *g)
{
    for (int r = 0; r < g->nranks; r++)
        if (r != g->rank && tutti_peer_is_stopped(g, r)) return true;
    return false;
}

static const char *words_of_state(char state)
{
    switch (state) {
    case 'T': return "stopped by a signal; kill -CONT lets it go on";
    case 't': return "stopped by a debugger";
    case 'R': return "running";
    case 'S': return "asleep";
    case 'D': return "waits for a disk or network file system";
    case 'Z': return "has ended";
    default: return "";
    }
}

/* Prints a number such as "1,200"; n is not negative. */
static void print_count(tutti_strbuf *out, int64_t n)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < length; i++) tutti_strbuf_printf(out, i && (length - i) % 3 == 0 ? ",%c" : "%c", digits[i]);
}

/* Prints "tests, 1,200 of 20,000 samples; nothing new for 3 s". */
static void print_phase(const tutti_peer *p, tutti_strbuf *out)
{
    const tutti_long_phase *f = &p->phase;
    const int64_t done = p->board ? atomic_load(&p->board->done) : f->done;
    const int64_t total = p->board ? atomic_load(&p->board->total) : f->total;
    tutti_strbuf_puts(out, f->what);
    if (f->unit[0] && done >= 0) {
        tutti_strbuf_puts(out, ", ");
        print_count(out, done);
        if (total > 0) tutti_strbuf_puts(out, " of "), print_count(out, total);
        tutti_strbuf_printf(out, " %s", f->unit);
    }
    if (f->idle_ns >= 1000000000) tutti_strbuf_printf(out, "; nothing new for %.0f s", 1e-9 * (double)f->idle_ns);
}

const char *tutti_peer_condition(const tutti_group *g, int rank)
{
    tutti_peer *p = &g->peers[rank];
    tutti_strbuf text = {0};
    const char *state = words_of_state(state_of(pid_of(g, rank)));
    if (p->state == TUTTI_PEER_LEFT) return " which has left";
    if (!p->phase.on && !*state) return "";
    if (p->phase.on) print_phase(p, &text);
    if (*state) tutti_strbuf_printf(&text, "%s%s", p->phase.on ? "; " : "", state);
    snprintf(p->phase.words, sizeof p->phase.words, " [%.230s]", text.text);
    tutti_strbuf_release(&text);
    return p->phase.words;
}
