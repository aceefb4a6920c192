/* SPDX-License-Identifier: Apache-2.0 */
/* drawn.c: generates the samples of synthetic sets in memory, on all cores that this process may use. All labels are
 * equally frequent. */
#include "../../base/arena.h"
#include "../../base/host/cores.h"
#include "../../base/host/memory.h"
#include "../../base/pool.h"
#include "../dataset_impl.h"

enum { NCLASSES = 10, MAX_THREADS = 8 };

/* Returns the label of a generated sample. Each ten samples in a row have each class once, in random order, so any
 * number of samples is nearly balanced. */
uint8_t tutti_drawn_label(uint64_t seed, tutti_split split, int64_t index)
{
    return (uint8_t)tutti_sample_order_at(seed ^ 0x6c6162656cu, index / NCLASSES * 2 + split, NCLASSES, true,
                                          index % NCLASSES);
}

typedef struct {
    const tutti_drawn_set *set;
    uint64_t seed;
    tutti_split split;
    int64_t sample_bytes;
    uint8_t *pixels;
    int32_t *labels;
} drawing;

static void draw_part(void *arg, int64_t begin, int64_t end)
{
    const drawing *job = arg;
    for (int64_t i = begin; i < end; i++)
        job->labels[i] = job->set->draw(job->seed, job->split, i, job->pixels + i * job->sample_bytes);
}

tutti_status tutti_drawn_open(const tutti_drawn_set *set, const tutti_dataset_config *config, tutti_split split,
                              tutti_dataset *d, tutti_failure *err)
{
    int64_t train = config->train_samples ? config->train_samples : set->train;
    int64_t count = split == TUTTI_SPLIT_TRAIN ? train : config->test_samples ? config->test_samples : set->test;
    const int64_t bytes = tutti_shape_count(&set->shape), most = ((int64_t)1 << 34) / bytes;
    if (count > most)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data: %lld drawn samples are more than the %lld that fit in memory",
                          (long long)count, (long long)most);
    tutti_status st = tutti_memory_check(count * (bytes + (int64_t)sizeof *d->labels), "drawn samples",
                                         "draw fewer (data.train_samples, data.test_samples)", err);
    if (st) return st;
    d->shape = set->shape;
    d->count = count;
    d->nclasses = NCLASSES;
    d->pixels = tutti_alloc((size_t)(count * bytes));
    d->labels = tutti_alloc((size_t)count * sizeof *d->labels);
    drawing job = {set, config->seed, split, bytes, d->pixels, d->labels};
    const int ncores = tutti_cores_usable();
    tutti_pool *pool =
        ncores > 1 && count >= 1000 ? tutti_pool_create(ncores < MAX_THREADS ? ncores : MAX_THREADS) : NULL;
    tutti_pool_for(pool, count, draw_part, &job);
    tutti_pool_destroy(pool);
    return TUTTI_OK;
}
