/* SPDX-License-Identifier: Apache-2.0 */
/* simgrid_main.c: tutti-simgrid PROBLEM ANSWER: plays the problem of a file (actor_problem.h) in SimGrid and writes
 * when each rank has ended. It is a program of its own so that tutti does not need SimGrid, and so that a deadline can
 * end it. Exit code 0: the answer holds the times, or a message that says why there are none; 1: no answer could be
 * written; 2: wrong usage. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../engines/actor_player.h"
#include "../engines/actor_read.h"
#include "actor_zone.h"

typedef struct {
    const tutti_actor_problem *problem;
    uint8_t *done; /* for each step of all ranks: 1 once it is done */
    double *end_s; /* for each rank: when it ended; < 0: it has not */
} tutti_play;

/* The argument of the functions by which a rank's player uses the network. */
typedef struct {
    tutti_zone *zone;
    tutti_wait_set *set;
} actor;

static void send_on(void *with, int32_t line, double bytes, int32_t tag)
{
    const actor *a = with;
    tutti_zone_send(a->zone, a->set, line, bytes, tag);
}

static void receive_on(void *with, int32_t line, int32_t tag)
{
    const actor *a = with;
    tutti_zone_receive(a->zone, a->set, line, tag);
}

static void signal_on(void *with, int32_t line, double bytes)
{
    const actor *a = with;
    tutti_zone_signal(a->zone, line, bytes);
}

static void load_from(void *with, const tutti_actor_load *load, int32_t tag)
{
    const actor *a = with;
    tutti_zone_load(a->zone, a->set, load, tag);
}

static const tutti_actor_wire wire = {.send = send_on, .receive = receive_on, .signal = signal_on, .load = load_from};

/* Plays a rank as an actor. If nothing is due and nothing travels, the actor never continues, and SimGrid finds it
 * among the waiting actors. */
static void rank_play(void *with, tutti_zone *zone, int32_t rank, tutti_wait_set *set)
{
    const tutti_play *play = with;
    actor own = {zone, set};
    tutti_actor_player q;
    tutti_actor_player_begin(play->problem, rank, play->done, &wire, &own, &q);
    for (;;) {
        const double due = tutti_actor_player_go(&q, tutti_zone_now());
        if (!q.nopen || (due == INFINITY && !tutti_wait_set_size(set))) break;
        if (!tutti_wait_set_size(set)) {
            tutti_zone_sleep_until(due);
            continue;
        }
        const int32_t tag = tutti_wait_set_next(set, due == INFINITY ? -1 : due);
        if (tag >= 0) tutti_actor_player_ended(&q, tag, tutti_zone_now());
    }
    if (!q.nopen) play->end_s[rank] = tutti_zone_now();
    tutti_actor_player_release(&q);
}

static int finish(FILE *answer)
{
    const bool written = !ferror(answer);
    return fclose(answer) || !written;
}

static int refuse(FILE *answer, const char *words)
{
    fprintf(answer, "error %s\n", words);
    return finish(answer);
}

/* Names the first step that is not done of the first rank that has not ended. */
static void say_hang(const tutti_play *play, char out[200])
{
    const tutti_actor_problem *p = play->problem;
    for (int32_t r = 0; r < p->head->nranks; r++) {
        if (play->end_s[r] >= 0) continue;
        int64_t i = p->ranks[r].first_step;
        while (i < p->ranks[r + 1].first_step && play->done[i]) i++;
        snprintf(out, 200, "the schedule hangs: rank %d never gets past its step %lld of stage %d", (int)r,
                 (long long)(i - p->ranks[r].first_step), (int)p->steps[i].stage);
        return;
    }
}

static int play(const tutti_actor_problem *p, FILE *answer)
{
    tutti_play about = {.problem = p,
                        .done = calloc((size_t)p->head->nsteps + 1, 1),
                        .end_s = calloc((size_t)p->head->nranks, sizeof *about.end_s)};
    double last = 0;
    char words[200] = "";
    if (!about.done || !about.end_s) return refuse(answer, "no memory");
    for (int32_t r = 0; r < p->head->nranks; r++) about.end_s[r] = -1;
    tutti_zone_run(tutti_zone_create(p), rank_play, &about);
    say_hang(&about, words);
    for (int32_t r = 0; r < p->head->nranks; r++) last = about.end_s[r] > last ? about.end_s[r] : last;
    if (*words) return refuse(answer, words);
    fprintf(answer, "ok %.17g\n", last);
    for (int32_t r = 0; r < p->head->nranks; r++) fprintf(answer, "%.17g\n", about.end_s[r]);
    free(about.done);
    free(about.end_s);
    return finish(answer);
}

int main(int argc, char **argv)
{
    tutti_actor_problem problem;
    struct stat about;
    char words[200];
    if (argc != 3) {
        fprintf(stderr, "usage: tutti-simgrid PROBLEM ANSWER (tutti runs it)\n");
        return 2;
    }
    FILE *answer = fopen(argv[2], "w");
    if (!answer) return 1;
    const int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about)) return refuse(answer, strerror(errno));
    if (about.st_size <= 0) return refuse(answer, "the problem is empty");
    void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) return refuse(answer, strerror(errno));
    if (!tutti_actor_read(bytes, (size_t)about.st_size, &problem, words)) return refuse(answer, words);
    return play(&problem, answer);
}
