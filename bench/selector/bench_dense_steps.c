/* SPDX-License-Identifier: Apache-2.0 */
/* bench_dense_steps.c: kernels of a step of a model, with and without a tune file. usage: bench_dense_steps MODEL BATCH
 * TUNE_FILE ROUNDS
 *
 * Prints a line each of "onednn" (the library's inner product, one way for all), "rule" (auto without a file) and
 * "tuned": milliseconds of all forward passes, of all passes, and what the dense layers' forward passes are computed
 * by. Turns are taken, the shortest of the rounds counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/tune/tune_file.h"
#include "predict/profile/profile.h"

enum { NKINDS = 3 };
static const char *const kinds[NKINDS] = {"onednn", "rule", "tuned"};

typedef struct {
    double forward_s, all_s;
    tutti_strbuf by;
} step;

static tutti_status measure(const tutti_model *model, const tutti_graph_config *config, step *s, tutti_failure *err)
{
    tutti_graph *g = NULL;
    tutti_profile p = {0};
    double forward = 0, back = 0;
    tutti_status st = tutti_graph_build(model, config, &g, err);
    if (!st) st = tutti_profile_measure(&g, 1, &p, err);
    for (int l = 0; l < p.nlayers; l++) {
        forward += p.layers[l].forward_s;
        back += p.layers[l].params_s + p.layers[l].data_s + p.layers[l].sum_s;
    }
    if (!st && (s->all_s == 0 || forward + back < s->all_s)) s->forward_s = forward, s->all_s = forward + back;
    const bool is_told = s->by.length > 0;
    for (int l = 0; !st && !is_told && l < model->nlayers; l++)
        if (strcmp(model->layers[l].op->name, "dense") == 0)
            tutti_strbuf_printf(&s->by, " %s=%s", model->layers[l].name, g->kernels[l].chosen[TUTTI_PASS_FORWARD].name);
    tutti_profile_release(&p);
    tutti_graph_destroy(g);
    return st;
}

static tutti_status run(char **argv, tutti_failure *err)
{
    tutti_model *model = NULL;
    tutti_tune_file file = {0};
    step steps[NKINDS] = {{0}};
    const tutti_tune_place here = tutti_tune_here(1);
    tutti_status st = tutti_model_load(argv[1], ".", &model, err);
    if (!st) st = tutti_tune_file_open(argv[3], &here, &file, err);
    if (!st) model = tutti_model_fuse(model);
    const tutti_tuned tuned = tutti_tune_file_tuned(&file);
    for (int round = 0; round < strtol(argv[4], NULL, 10); round++)
        for (int i = 0; i < NKINDS && !st; i++) {
            const tutti_graph_config config = {.batch = strtoll(argv[2], NULL, 10),
                                               .engine = i ? "auto" : "onednn",
                                               .nthreads = 1,
                                               .training = true,
                                               .tuned = i == 2 ? &tuned : NULL};
            st = measure(model, &config, &steps[i], err);
        }
    for (int i = 0; i < NKINDS && !st; i++)
        printf("%s %.3f %.3f%s\n", kinds[i], steps[i].forward_s * 1e3, steps[i].all_s * 1e3, steps[i].by.text);
    for (int i = 0; i < NKINDS; i++) tutti_strbuf_release(&steps[i].by);
    tutti_tune_file_release(&file);
    tutti_model_destroy(model);
    return st;
}

int main(int argc, char **argv)
{
    tutti_failure err = {0};
    if (argc != 5) {
        fprintf(stderr, "usage: bench_dense_steps MODEL BATCH TUNE_FILE ROUNDS\n");
        return TUTTI_ERR_USAGE;
    }
    if (run(argv, &err)) fprintf(stderr, "bench_dense_steps: %s\n", err.text);
    return (int)err.status;
}
