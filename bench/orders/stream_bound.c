/* SPDX-License-Identifier: Apache-2.0 */
/* stream_bound.c: see stream_bound.h. Loops are those of src/tensor, which are the fastest that we know: reading is
 * adding to a block in the first cache. */
#include "stream_bound.h"

#include "base/clock.h"
#include "kernel/crew.h"
#include "tensor/elementwise.h"

enum { PIECE = 1 << 18, BLOCK = 1 << 13, STREAM_FROM = 1 << 20, LINE = 64 };

typedef struct {
    const stream_walk *walk;
    int64_t pieces;
} walk_job;

static size_t line_at(size_t nbytes, int64_t piece, int64_t pieces)
{
    return nbytes / LINE * (size_t)piece / (size_t)pieces * LINE;
}

static float *part_at(const stream_walk *w, int b, size_t at)
{
    return (float *)(void *)((char *)w->memory[b] + at);
}

static void read_part(const float *from, size_t nbytes, float *block)
{
    for (size_t at = 0; at < nbytes; at += BLOCK) {
        const size_t n = nbytes - at < BLOCK ? nbytes - at : BLOCK;
        tutti_elementwise_add(block, from + at / sizeof(float), (int64_t)(n / sizeof(float)));
    }
}

static bool is_one_loop(const stream_walk *w)
{
    for (int b = 1; b < w->nread + w->nwritten; b++)
        if (w->bytes[b] != w->bytes[0]) return false;
    return w->nread && w->nwritten;
}

static void do_pieces(void *arg, int64_t begin, int64_t end, int thread)
{
    const walk_job *j = arg;
    const stream_walk *w = j->walk;
    _Alignas(LINE) float block[BLOCK / sizeof(float)] = {0};
    (void)thread;
    for (int64_t piece = begin; piece < end; piece++) {
        float *part[STREAM_MOST];
        size_t from = 0, to = 0;
        for (int b = 0; b < w->nread + w->nwritten; b++) {
            from = line_at(w->bytes[b], piece, j->pieces), to = line_at(w->bytes[b], piece + 1, j->pieces);
            part[b] = part_at(w, b, from);
            if (is_one_loop(w)) continue;
            if (b < w->nread)
                read_part(part[b], to - from, block);
            else
                for (size_t at = from; at < to; at += BLOCK) {
                    float *out = part_at(w, b, at);
                    const size_t n = to - at < BLOCK ? to - at : BLOCK;
                    tutti_elementwise_copy(&out, 1, block, (int64_t)(n / sizeof(float)), w->bytes[b] >= STREAM_FROM);
                }
        }
        if (is_one_loop(w))
            tutti_elementwise_reduce(&(tutti_elementwise_call){.outputs = part + w->nread,
                                                               .nout = w->nwritten,
                                                               .inputs = (const float *const *)part,
                                                               .nin = w->nread,
                                                               .n = (int64_t)((to - from) / sizeof(float)),
                                                               .stream = w->bytes[0] >= STREAM_FROM});
    }
}

double stream_seconds(const stream_walk *walks, int nwalks, int nthreads)
{
    const double start = tutti_clock_s();
    for (int i = 0; i < nwalks; i++) {
        size_t most = 0;
        for (int b = 0; b < walks[i].nread + walks[i].nwritten; b++)
            if (walks[i].bytes[b] > most) most = walks[i].bytes[b];
        walk_job job = {&walks[i], (int64_t)((most + PIECE - 1) / PIECE)};
        tutti_crew_run(nthreads, job.pieces, do_pieces, &job);
    }
    return tutti_clock_s() - start;
}
