/* SPDX-License-Identifier: Apache-2.0 */
/* noise.c: the set `noise`: random samples, whose shape and number of classes the job gives. A few samples are
 * generated once and used again and again. Nothing can be learned from them. Loading costs next to nothing for any
 * size, so that a benchmark times everything else. */
#include "../../base/arena.h"
#include "../../base/host/memory.h"
#include "../../base/rng.h"
#include "../dataset_impl.h"

enum { NDISTINCT = 64, DEFAULT_TRAIN = 50000, DEFAULT_TEST = 1000 };

static tutti_status open_noise(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                               tutti_failure *err)
{
    const bool train = split == TUTTI_SPLIT_TRAIN;
    const int64_t wanted = train ? config->train_samples : config->test_samples;
    const int64_t bytes = tutti_shape_count(&config->shape), most = (int64_t)1 << 26;
    if (bytes > most)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.shape: samples of %lld bytes; at most %lld", (long long)bytes,
                          (long long)most);
    d->shape = config->shape;
    d->nclasses = (int)config->classes;
    d->count = wanted ? wanted : train ? DEFAULT_TRAIN : DEFAULT_TEST;
    d->nstored = d->count < NDISTINCT ? d->count : NDISTINCT;
    tutti_status st = tutti_memory_check(d->nstored * bytes, "samples of noise", "use a smaller data.shape", err);
    if (st) return st;
    d->pixels = tutti_alloc((size_t)(d->nstored * bytes));
    d->labels = tutti_alloc((size_t)d->nstored * sizeof *d->labels);
    for (int64_t i = 0; i < d->nstored * bytes; i += 16) {
        const tutti_random4 r = tutti_random(config->seed, TUTTI_STREAM_DRAW, (uint64_t)split, (uint64_t)i);
        for (int64_t k = 0; k < 16 && i + k < d->nstored * bytes; k++)
            d->pixels[i + k] = (uint8_t)(r.word[k / 4] >> k % 4 * 8);
    }
    for (int64_t i = 0; i < d->nstored; i++) {
        const tutti_random4 r = tutti_random(config->seed, TUTTI_STREAM_DRAW, (uint64_t)split + 2, (uint64_t)i);
        d->labels[i] = (int32_t)tutti_random_below(r, (uint64_t)d->nclasses);
    }
    return TUTTI_OK;
}

const tutti_dataset_row tutti_dataset_noise = {
    .name = "noise",
    .help = "made-up samples of data.shape in data.classes classes, for benchmarks",
    .mean = {0.5},
    .std = {0.5},
    .shaped = true,
    .open = open_noise,
};
