/* SPDX-License-Identifier: Apache-2.0 */
/* answers.h: a small run to ask for answers, and what eval wrote of its test set. After testing.h. */
#ifndef TUTTI_ANSWERS_H
#define TUTTI_ANSWERS_H

#include "cli/command_folder.h"

static const char job[] = "model: lenet\ndata: {set: digits, train_samples: 320, test_samples: 130}\nbatch: 32\n"
                          "steps: 10\nreduction: canonical\nslots: 4\noptimiser: {rule: momentum, lr: 0.05}\n";
enum { NSAMPLES = 130, NCLASSES = 10 };

typedef struct {
    int label, predicted;
    float p[NCLASSES];
} row;

/* One run for all tests: $/one by one rank, $/two by two. */
static inline int train_both(void **state)
{
    if (folder_make(state)) return -1;
    put("job.yaml", job);
    check("train $/job.yaml --ranks 1 --out $/one --quiet", 0, "weights ");
    check("train $/job.yaml --ranks 2 --out $/two --quiet", 0, "weights ");
    return 0;
}

static inline void read_csv(const char *name, row rows[NSAMPLES])
{
    char *text = get(name), *at = text;
    const char head[] = "index,label,prediction,p0,p1,p2,p3,p4,p5,p6,p7,p8,p9\n";
    assert_memory_equal(at, head, strlen(head));
    at += strlen(head);
    for (int i = 0; i < NSAMPLES; i++) {
        assert_int_equal(strtol(at, &at, 10), i);
        assert_int_equal(*at++, ',');
        rows[i].label = (int)strtol(at, &at, 10);
        assert_int_equal(*at++, ',');
        rows[i].predicted = (int)strtol(at, &at, 10);
        for (int k = 0; k < NCLASSES; k++) {
            assert_int_equal(*at++, ',');
            rows[i].p[k] = strtof(at, &at);
        }
        assert_int_equal(*at++, '\n');
    }
    assert_int_equal(*at, '\0');
    free(text);
}

#endif
