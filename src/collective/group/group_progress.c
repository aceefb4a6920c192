/* SPDX-License-Identifier: Apache-2.0 */
/* group_progress.c: the thread that lets a wire move bytes while its owner computes.
 *
 * Only groups whose wire needs such a thread have one. Either this thread or the owner *drives*: it advances wire and
 * exchanges, and sleeps on the wire's descriptor, the doorbell and (`asleep` on the board) the near peers' signals. The
 * owner drives while it waits for an exchange; otherwise the thread does. The thread sleeps unless something is in
 * flight: with no exchange active only the wire's descriptor wakes it, because peers may be ahead and put into this
 * rank's memory.
 *
 * Waking a thread, or setting a timer, costs more than a short wait, because on a virtual machine both go through the
 * hypervisor. So while the owner waits again and again the thread stays *aside*: it naps, and begins to drive when the
 * owner has not driven during a nap. The owner wakes it only after a long wait. With this, 4 KB to a peer and a word
 * back over tcp take 14 us. A plain stream takes 53 us if its ends sleep in poll, and 8 us if they check the socket
 * before they sleep (./dev bench transfer, EPYC Zen 4). */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/steady_cond.h"
#include "group_impl.h"

enum { NAP_MS = 1, MOST_NAPS = 5 };

struct tutti_driver {
    tutti_group *group;
    pthread_t thread;
    pthread_mutex_t lock; /* guards wire and exchanges, and the next three fields */
    bool owner_drives;
    uint64_t turns; /* number of times that the owner has driven, by which the thread sees whether it has driven
                     * since */
    bool far_aside; /* true while the thread stays aside without naps: it sleeps until it is woken */

    uint64_t seen_turns; /* value of `turns` when the thread last looked; only the thread uses this field and `naps` */
    int naps;            /* number of naps in which the owner has not driven */
    int wake;            /* eventfd that wakes the thread */
    int descriptor;      /* descriptor of the wire */
    atomic_bool stop;
    atomic_bool asleep; /* the thread sleeps for longer than a nap, and other threads may have to wake it */
    atomic_int wanted;  /* number of calls that wait for the lock: the thread leaves it to them, because mutexes are not
                         * fair */
};

void tutti_group_lock(tutti_group *g)
{
    if (!g->driver) return;
    atomic_fetch_add(&g->driver->wanted, 1);
    pthread_mutex_lock(&g->driver->lock);
    atomic_fetch_sub(&g->driver->wanted, 1);
}

void tutti_group_unlock(tutti_group *g)
{
    if (g->driver) pthread_mutex_unlock(&g->driver->lock);
}

static void wake(tutti_driver *d)
{
    (void)!write(d->wake, &(uint64_t){1}, 8);
}

void tutti_driver_kick(tutti_group *g)
{
    if (g->driver && atomic_exchange(&g->driver->asleep, false)) wake(g->driver);
}

void tutti_driver_sleep(tutti_group *g, pthread_cond_t *called, double seconds)
{
    tutti_steady_cond_wait(called, &g->driver->lock, tutti_clock_ns() + (int64_t)(seconds * 1e9));
}

void tutti_driver_take_over(tutti_group *g)
{
    if (!g->driver) return;
    tutti_group_lock(g);
    g->driver->owner_drives = true;
    g->driver->turns++;
    tutti_group_unlock(g);
}

void tutti_driver_hand_back(tutti_group *g)
{
    if (!g->driver) return;
    tutti_group_lock(g);
    g->driver->owner_drives = false;
    const bool far_aside = g->driver->far_aside;
    tutti_group_unlock(g);
    if (far_aside) tutti_driver_kick(g);
}

bool tutti_driver_is_owner(const tutti_group *g)
{
    return !g->driver || g->driver->owner_drives; /* only the owner writes owner_drives, so it needs no lock to read
                                                   * it */
}

bool tutti_driver_is_running(const tutti_group *g)
{
    return g->driver && pthread_equal(pthread_self(), g->driver->thread);
}

static bool is_active(const tutti_group *g)
{
    return g->traffic && g->traffic->is_active(g);
}

/* Advances once: true if anything moved. */
static bool advance(tutti_group *g)
{
    return g->traffic ? g->traffic->advance(g) : g->wire && g->wire->row->progress(g->wire);
}

/* Returns how long the thread leaves the wire to the owner: a nap in ms, -1: until the thread is woken, 0: not at all.
 * The caller holds the lock. */
static int stand_aside(tutti_driver *d)
{
    d->far_aside = false;
    if (d->turns != d->seen_turns) {
        d->seen_turns = d->turns;
        d->naps = 1;
        return NAP_MS;
    }
    if (!d->owner_drives) return 0;
    if (d->naps++ < MOST_NAPS) return NAP_MS;
    d->far_aside = true;
    return -1;
}

/* Fills in the descriptors to sleep on and the time limit, and declares this thread asleep. Returns false if something
 * has moved. The caller holds the lock. */
static bool prepare_sleep(tutti_driver *d, struct pollfd polls[3], nfds_t *n, int *limit_ms)
{
    tutti_group *g = d->group;
    tutti_board *own = g->peers[g->rank].board;
    const int aside_ms = stand_aside(d);
    *n = 1;
    polls[0] = (struct pollfd){.fd = d->wake, .events = POLLIN};
    *limit_ms = aside_ms > 0 ? aside_ms : 1000;
    if (aside_ms > 0) return true;
    atomic_store(&d->asleep, true);
    if (aside_ms < 0) return true;
    const bool active = is_active(g);
    if (active) atomic_store(&own->asleep, TUTTI_ASLEEP);
    if (advance(g) || !g->wire->row->arm(g->wire)) {
        atomic_store(&own->asleep, 0);
        return false;
    }
    polls[(*n)++] = (struct pollfd){.fd = d->descriptor, .events = POLLIN};
    if (active) polls[(*n)++] = (struct pollfd){.fd = g->peers[g->rank].bell, .events = POLLIN};
    return true;
}

/* Called after the sleep, with the lock. */
static void end_sleep(tutti_driver *d)
{
    tutti_group *g = d->group;
    uint64_t rings;
    atomic_store(&d->asleep, false);
    (void)!read(d->wake, &rings, sizeof rings);
    if (d->owner_drives) return; /* the owner drives now: the doorbell and `asleep` are the owner's */
    atomic_store(&g->peers[g->rank].board->asleep, 0);
    (void)!read(g->peers[g->rank].bell, &rings, sizeof rings);
}

static void *drive(void *arg)
{
    tutti_driver *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!atomic_load(&d->stop)) {
        struct pollfd polls[3];
        nfds_t n;
        int limit_ms;
        bool sleep = prepare_sleep(d, polls, &n, &limit_ms);
        pthread_mutex_unlock(&d->lock);
        if (sleep) (void)poll(polls, n, limit_ms);
        while (atomic_load(&d->wanted)) sched_yield();
        pthread_mutex_lock(&d->lock);
        end_sleep(d);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

tutti_status tutti_driver_start(tutti_group *g, tutti_failure *err)
{
    tutti_driver *d = tutti_alloc(sizeof *d);
    d->group = g;
    d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    d->descriptor = g->wire->row->descriptor(g->wire);
    pthread_mutex_init(&d->lock, NULL);
    g->driver = d;
    int problem = d->wake < 0 || d->descriptor < 0 ? errno : pthread_create(&d->thread, NULL, drive, d);
    if (!problem) return TUTTI_OK;
    g->driver = NULL;
    if (d->wake >= 0) close(d->wake);
    pthread_mutex_destroy(&d->lock);
    free(d);
    return tutti_fail(err, TUTTI_ERR_FAILED, "join: rank %d: no progress thread: %s", g->rank, strerror(problem));
}

void tutti_driver_stop(tutti_group *g)
{
    tutti_driver *d = g->driver;
    if (!d) return;
    atomic_store(&d->stop, true);
    wake(d);
    pthread_join(d->thread, NULL);
    g->driver = NULL;
    close(d->wake);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

bool tutti_driver_stir(tutti_group *g)
{
    tutti_group_lock(g);
    const bool moved = advance(g) || (g->wire && !g->wire->row->arm(g->wire));
    tutti_group_unlock(g);
    return moved;
}

int tutti_driver_descriptor(const tutti_group *g)
{
    return g->driver ? g->driver->descriptor : -1;
}
