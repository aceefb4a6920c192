/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: a small pool of threads for loops. Workers sleep on a condition until a loop is posted; each computes the
 * contiguous part that belongs to its index, so the split of [0, n) depends only on n and the pool's size. The mutex
 * guards all members that follow it in the struct. */
#include "pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "arena.h"

typedef struct {
    tutti_pool *pool;
    int index;
    pthread_t thread;
} worker;

struct tutti_pool {
    int size; /* number of threads, the caller included */
    worker *workers;
    pthread_mutex_t lock;
    pthread_cond_t posted, finished;
    uint64_t round; /* number of the current loop */
    int busy;
    bool closing;
    int64_t n;
    void (*body)(void *arg, int64_t begin, int64_t end);
    void *arg;
};

static void run_share(int64_t n, int index, int size, void (*body)(void *, int64_t, int64_t), void *arg)
{
    int64_t begin = n / size * index + (n % size) * index / size;
    int64_t end = n / size * (index + 1) + (n % size) * (index + 1) / size;
    if (end > begin) body(arg, begin, end);
}

static void *work(void *argument)
{
    worker *me = argument;
    tutti_pool *pool = me->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->closing) pthread_cond_wait(&pool->posted, &pool->lock);
        if (pool->closing) break;
        seen = pool->round;
        /* without the lock: n, body and arg do not change until all workers have finished */
        pthread_mutex_unlock(&pool->lock);
        run_share(pool->n, me->index, pool->size, pool->body, pool->arg);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

tutti_pool *tutti_pool_create(int nthreads)
{
    tutti_pool *pool = tutti_alloc(sizeof *pool);
    pool->size = nthreads > 1 ? nthreads : 1;
    pool->workers = tutti_alloc(sizeof *pool->workers * (size_t)pool->size);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->posted, NULL);
    pthread_cond_init(&pool->finished, NULL);
    for (int i = 1; i < pool->size; i++) {
        pool->workers[i] = (worker){.pool = pool, .index = i};
        if (pthread_create(&pool->workers[i].thread, NULL, work, &pool->workers[i]) != 0) {
            pool->size = i; /* a thread could not be started; fewer workers do the same loops */
            break;
        }
    }
    return pool;
}

void tutti_pool_destroy(tutti_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i < pool->size; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->posted);
    pthread_cond_destroy(&pool->finished);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

int tutti_pool_size(const tutti_pool *pool)
{
    return pool ? pool->size : 1;
}

void tutti_pool_for(tutti_pool *pool, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    if (!pool || pool->size == 1) {
        if (n > 0) body(arg, 0, n);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->n = n;
    pool->body = body;
    pool->arg = arg;
    pool->busy = pool->size - 1;
    pool->round++;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    run_share(n, 0, pool->size, body, arg);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy) pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
