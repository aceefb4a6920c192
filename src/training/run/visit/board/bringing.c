/* SPDX-License-Identifier: Apache-2.0 */
/* bringing.c: makes workers of other hosts send their vectors to rank 0 one after the other. */
#include "bringing.h"

#include <pthread.h>
#include <stdlib.h>

#include "../../../../base/arena.h"
#include "../../../../base/clock.h"
#include "../../../../base/steady_cond.h"

static const int64_t LOOK_NS = 100000000, PATIENCE_NS = 1000000000;

struct tutti_bringing {
    pthread_mutex_t lock; /* guards all members */
    pthread_cond_t changed;
    int64_t ndrawn, turn; /* number of turns drawn so far; number of the current turn */
    int64_t since_ns;     /* the time at which the current turn began */
    int64_t longest_ns;   /* length of the longest turn so far */
};

tutti_bringing *tutti_bringing_create(void)
{
    tutti_bringing *b = tutti_alloc(sizeof *b);
    pthread_mutex_init(&b->lock, NULL);
    tutti_steady_cond_init(&b->changed);
    return b;
}

void tutti_bringing_destroy(tutti_bringing *b)
{
    if (!b) return;
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    free(b);
}

int64_t tutti_bringing_draw(tutti_bringing *b)
{
    pthread_mutex_lock(&b->lock);
    const int64_t turn = b->ndrawn++;
    if (turn == b->turn) b->since_ns = tutti_clock_ns();
    pthread_mutex_unlock(&b->lock);
    return turn;
}

/* Begins the turn after this one, unless it has begun already. */
static void go_past(tutti_bringing *b, int64_t turn, int64_t now_ns)
{
    if (b->turn > turn) return;
    b->turn = turn + 1;
    b->since_ns = now_ns;
    pthread_cond_broadcast(&b->changed);
}

bool tutti_bringing_await(tutti_bringing *b, int64_t turn, bool (*gives_up)(const void *arg), const void *arg)
{
    bool gave_up = false;
    pthread_mutex_lock(&b->lock);
    while (b->turn < turn && !(gave_up = gives_up(arg))) {
        const int64_t now = tutti_clock_ns(), most = b->since_ns + PATIENCE_NS + 2 * b->longest_ns;
        if (now >= most)
            go_past(b, b->turn, now);
        else
            tutti_steady_cond_wait(&b->changed, &b->lock, most < now + LOOK_NS ? most : now + LOOK_NS);
    }
    pthread_mutex_unlock(&b->lock);
    return !gave_up;
}

void tutti_bringing_end(tutti_bringing *b, int64_t turn)
{
    pthread_mutex_lock(&b->lock);
    const int64_t now = tutti_clock_ns();
    if (b->turn == turn && now - b->since_ns > b->longest_ns) b->longest_ns = now - b->since_ns;
    go_past(b, turn, now);
    pthread_mutex_unlock(&b->lock);
}
