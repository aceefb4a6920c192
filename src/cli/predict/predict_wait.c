/* SPDX-License-Identifier: Apache-2.0 */
/* predict_wait.c: prints how long a prediction has taken, from a thread that sleeps until the prediction ends. On a
 * terminal its line is drawn over itself. */
#include "predict_wait.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/steady_cond.h"

struct tutti_predict_wait {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over;
    int nranks, i, n;
    double began_s, every_s;
    FILE *to;
};

static void say(const tutti_predict_wait *w, bool tty)
{
    fprintf(w->to, "%spredicting %d ranks (%d of %d), %.0f s so far%s", tty ? "\r" : "", w->nranks, w->i + 1, w->n,
            tutti_clock_s() - w->began_s, tty ? " \x1b[K" : "\n");
    fflush(w->to);
}

static void *watch(void *arg)
{
    tutti_predict_wait *w = arg;
    const bool tty = isatty(fileno(w->to));
    bool said = false;
    int64_t at_ns = tutti_clock_ns();
    pthread_mutex_lock(&w->lock);
    while (!w->is_over) {
        at_ns += (int64_t)(1e9 * w->every_s);
        while (!w->is_over && tutti_steady_cond_wait(&w->over, &w->lock, at_ns)) continue;
        if (!w->is_over && w->n) say(w, tty), said = true;
    }
    pthread_mutex_unlock(&w->lock);
    if (said && tty) fprintf(w->to, "\r\x1b[K");
    return NULL;
}

tutti_predict_wait *tutti_predict_wait_begin(FILE *to, double after_s)
{
    tutti_predict_wait *w = tutti_alloc(sizeof *w);
    *w = (tutti_predict_wait){.began_s = tutti_clock_s(), .every_s = after_s, .to = to};
    pthread_mutex_init(&w->lock, NULL);
    tutti_steady_cond_init(&w->over);
    if (!pthread_create(&w->thread, NULL, watch, w)) return w;
    pthread_cond_destroy(&w->over);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

void tutti_predict_wait_at(void *arg, int nranks, int i, int n)
{
    tutti_predict_wait *w = arg;
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->nranks = nranks, w->i = i, w->n = n;
    pthread_mutex_unlock(&w->lock);
}

void tutti_predict_wait_end(tutti_predict_wait *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->is_over = true;
    pthread_cond_signal(&w->over);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->over);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
