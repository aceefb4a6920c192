/* SPDX-License-Identifier: Apache-2.0 */
/* predict_wait.c: the thread sleeps on a condition that the end of the prediction signals. On a terminal its line is drawn over itself. */
#include "predict_wait.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/clock.h"

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

static struct timespec after(const struct timespec *from, double seconds)
{
    const long ns = from->tv_nsec + (long)(1e9 * (seconds - (double)(time_t)seconds));
    return (struct timespec){from->tv_sec + (time_t)seconds + ns / 1000000000, ns % 1000000000};
}

static void *watch(void *arg)
{
    tutti_predict_wait *w = arg;
    const bool tty = isatty(fileno(w->to));
    bool said = false;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    pthread_mutex_lock(&w->lock);
    while (!w->is_over) {
        at = after(&at, w->every_s);
        int rc = 0;
        while (!w->is_over && !rc) rc = pthread_cond_timedwait(&w->over, &w->lock, &at);
        if (!w->is_over && w->n) say(w, tty), said = true;
    }
    pthread_mutex_unlock(&w->lock);
    if (said && tty) fprintf(w->to, "\r\x1b[K");
    return NULL;
}

tutti_predict_wait *tutti_predict_wait_begin(FILE *to, double after_s)
{
    tutti_predict_wait *w = tutti_alloc(sizeof *w);
    pthread_condattr_t by;
    *w = (tutti_predict_wait){.began_s = tutti_clock_s(), .every_s = after_s, .to = to};
    pthread_condattr_init(&by);
    pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->over, &by);
    pthread_condattr_destroy(&by);
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
