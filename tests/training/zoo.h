/* SPDX-License-Identifier: Apache-2.0 */
/* zoo.h: every network that ships, in a form that tests can afford: the narrow one (tests/golden/train, made by
 * train_golden.py) where there is one, else as it is, which has to be small. Nothing is listed here: a network that is
 * added is there. Tests take a few, and all with TUTTI_LONG. */
#ifndef TUTTI_ZOO_H
#define TUTTI_ZOO_H

#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "training/model/model.h"

enum { ZOO_PATH = 512, ZOO_JOB = 2048, ZOO_MOST_PARAMS = 1000000, ZOO_FEWEST = 16 };

static inline tutti_model *zoo_load(const char *name)
{
    tutti_model *m = NULL;
    tutti_failure err = {0};
    if (tutti_model_load(name, ".", &m, &err)) fail_msg("%s", err.text);
    return m;
}

/* One of each kind: plain, with groups, sums, dense alone, branches. By emulated instructions, which is about loops,
 * those with products and norms of each kind. */
static inline bool zoo_is_quick(const char *name)
{
    static const char *const quick[] = {"lenet", "alexnet", "resnet20", "cd-dnn", "googlenet", "mlp", "convnet-bn"};
    const size_t n = getenv("TUTTI_EMULATE") ? 3 : sizeof quick / sizeof *quick;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(quick[i], name)) return true;
    return false;
}

/* The i-th of those that this run of the tests takes, as tutti_model_load reads it; false: there are no more. */
static inline bool zoo_at(int i, char path[ZOO_PATH])
{
    const char *name;
    for (int m = 0; (name = tutti_model_shipped_at(m)); m++) {
        if (!getenv("TUTTI_LONG") && !zoo_is_quick(name)) continue;
        if (i-- > 0) continue;
        snprintf(path, ZOO_PATH, "%s/tests/golden/train/%s.yaml", TUTTI_SOURCE_DIR, name);
        if (access(path, R_OK) != 0) snprintf(path, ZOO_PATH, "%s", name);
        return true;
    }
    return false;
}

/* Who adds a large network makes a narrow form of it. */
static inline void zoo_is_whole_and_narrow(void **state)
{
    (void)state;
    const char *name;
    int n = 0;
    for (; (name = tutti_model_shipped_at(n)); n++) {
        char path[ZOO_PATH];
        snprintf(path, sizeof path, "%s/tests/golden/train/%s.yaml", TUTTI_SOURCE_DIR, name);
        tutti_model *m = zoo_load(access(path, R_OK) == 0 ? path : name);
        assert_string_equal(m->name, name);
        if (tutti_model_nparams(m) > ZOO_MOST_PARAMS)
            fail_msg("%s has %lld parameters: add a narrow form to NARROW in tests/oracle/train_golden.py", name,
                     (long long)tutti_model_nparams(m));
        tutti_model_destroy(m);
    }
    assert_true(n >= ZOO_FEWEST);
}

/* A job that trains it for a few steps on samples of no meaning. keys: more lines. */
static inline void zoo_job(const char *path, const char *keys, char text[ZOO_JOB])
{
    tutti_model *m = zoo_load(path);
    assert_int_equal(m->input.ndims, 3);
    const int n = snprintf(text, ZOO_JOB,
                           "model: %s\ndata: {set: noise, shape: [%d, %d, %d], classes: %d, train_samples: 32, "
                           "test_samples: 4}\nbatch: 8\nsteps: 4\neval_every_epochs: 0\nlog_every: 1\n"
                           "optimiser: {rule: momentum, lr: 0.01}\n%s",
                           path, (int)m->input.dim[0], (int)m->input.dim[1], (int)m->input.dim[2], m->nclasses, keys);
    assert_true(n < ZOO_JOB);
    tutti_model_destroy(m);
}

#endif
