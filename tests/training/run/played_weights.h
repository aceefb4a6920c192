/* SPDX-License-Identifier: Apache-2.0 */
/* played_weights.h: a job played on ranks that are threads, by its bits, its notes and the vectors of its newest
 * checkpoint. */
#ifndef TUTTI_PLAYED_WEIGHTS_H
#define TUTTI_PLAYED_WEIGHTS_H

#include "played_job.h"

#include "base/file.h"
#include "training/run/keep/checkpoint_impl.h"

typedef struct {
    char notes[400];
} listener;

static inline void listen_to(void *arg, const tutti_train_event *e)
{
    listener *l = arg;
    if (e->kind == TUTTI_TRAIN_NOTE) snprintf(l->notes, sizeof l->notes, "%s", e->text);
}

static inline tutti_train_result play(const char *text, int nranks, const char *dir, listener *l)
{
    played_job j = {.text = text, .nranks = nranks, .dir = dir, .on_event = l ? listen_to : NULL, .on_event_arg = l};
    play_job(&j);
    for (int r = 0; r < nranks; r++)
        if (j.err[r].status) fail_msg("rank %d: %s", r, j.err[r].text);
    for (int r = 1; r < nranks; r++) assert_true(j.result[r].weights_hash == j.result[0].weights_hash);
    return j.result[0];
}

static inline uint64_t bits_of(const char *text, int nranks)
{
    return play(text, nranks, NULL, NULL).weights_hash;
}

/* All of a file of the newest checkpoint, "weights" or "weights@2", as it lies there. free() */
static inline float *weights_in(const char *dir, const char *name, size_t *n)
{
    char *path = NULL, *file, *bytes;
    tutti_failure err = {0};
    tutti_safetensors *st = NULL;
    if (tutti_checkpoint_newest(dir, &path, NULL, &err)) fail_msg("%s", err.text);
    file = tutti_checkpoint_path("%s/%s.safetensors", path, name);
    size_t nbytes;
    if (tutti_file_read(file, 1 << 24, TUTTI_ERR_DATA, &bytes, &nbytes, &err) ||
        tutti_safetensors_parse(file, bytes, nbytes, &st, &err))
        fail_msg("%s", err.text);
    float *out = malloc(nbytes);
    *n = 0;
    for (int i = 0; i < tutti_safetensors_count(st); i++) {
        const tutti_tensor_ref *t = tutti_safetensors_at(st, i);
        const size_t count = (size_t)tutti_shape_count(&t->shape);
        memcpy(out + *n, t->data, count * sizeof(float));
        *n += count;
    }
    tutti_safetensors_destroy(st);
    free(path), free(file), free(bytes);
    return out;
}

static inline void drop_checkpoint(const char *dir, int step)
{
    char *path = tutti_checkpoint_path("%s/checkpoints/step_%09d", dir, step);
    assert_int_equal(tutti_file_remove_tree(path, NULL), TUTTI_OK);
    free(path);
}

#endif
