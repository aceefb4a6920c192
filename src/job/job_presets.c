/* SPDX-License-Identifier: Apache-2.0 */
/* job_presets.c: presets of the optimiser: values of several keys, under the name of a run that is known to work.
 * Values in the job take precedence.
 *
 * The figures are those of MLPerf's reference convergence points of ResNet-50 by LARS (github.com/mlcommons/logging,
 * rcps_resnet.json of 4.0), the form of the rate is that of its rules (github.com/mlcommons/training_policies,
 * training_rules.adoc: polynomial decay). Values that MLPerf does not give stay as in the job: trust, end_lr, power. */
#include <stdio.h>
#include <string.h>

#include "job_fields.h"

enum { NKEYS = 6 };

typedef struct {
    const char *name;
    int batch, first_epochs, last_epochs; /* of the MLPerf runs: the batch size, and the least and most epochs that they
                                           * took */
    const char *set[NKEYS];
} preset;

#define LARS(name, batch, first, last, lr, warmup, momentum, decay)                                                    \
    {                                                                                                                  \
        name, batch, first, last,                                                                                      \
        {                                                                                                              \
            "optimiser.rule=lars", "optimiser.schedule=poly", "optimiser.lr=" lr, "optimiser.warmup_epochs=" warmup,   \
                "optimiser.momentum=" momentum, "optimiser.weight_decay=" decay                                        \
        }                                                                                                              \
    }

static const preset presets[] = {
    LARS("mlperf-lars-1632", 1632, 33, 37, "7.4", "2", "0.9", "5e-5"),
    LARS("mlperf-lars-3264", 3264, 34, 37, "10.5", "2", "0.9", "5e-5"),
    LARS("mlperf-lars-4k", 4096, 39, 42, "10", "5", "0.9", "2e-4"),
    LARS("mlperf-lars-8k", 8192, 41, 44, "17", "5", "0.9", "2e-4"),
    LARS("mlperf-lars-13k", 13056, 44, 46, "12.8", "9", "0.9", "2.5e-5"),
    LARS("mlperf-lars-32k", 32768, 55, 57, "21.2", "16", "0.94", "2.5e-5"),
    LARS("mlperf-lars-48k", 49152, 67, 69, "19.4", "24", "0.952", "1e-4"),
};
enum { NPRESETS = sizeof presets / sizeof *presets };

const char *tutti_job_preset_name(int i)
{
    return i == 0 ? "none" : i <= NPRESETS ? presets[i - 1].name : NULL;
}

static const preset *find(const char *name)
{
    for (int i = 0; i < NPRESETS && name; i++)
        if (!strcmp(presets[i].name, name)) return &presets[i];
    return NULL;
}

static const preset *asked_for(const tutti_job_source *source)
{
    const char *override = tutti_job_source_override(source, "optimiser.preset");
    if (override) return find(strchr(override, '=') + 1);
    const tutti_yaml_node *node = source->root ? tutti_yaml_get(source->root, "optimiser") : NULL;
    node = node && node->kind == TUTTI_YAML_MAP ? tutti_yaml_get(node, "preset") : NULL;
    return node ? find(node->scalar) : NULL;
}

bool tutti_job_preset_sets(const tutti_job_source *source, const char *key)
{
    const preset *p = asked_for(source);
    const size_t n = strlen(key);
    for (int i = 0; p && i < NKEYS; i++)
        if (!strncmp(p->set[i], key, n) && p->set[i][n] == '=') return true;
    return false;
}

int tutti_job_preset_overrides(const tutti_job_source *source, const char *out[TUTTI_JOB_PRESET_KEYS])
{
    _Static_assert((int)NKEYS <= (int)TUTTI_JOB_PRESET_KEYS, "room for all of them");
    const preset *p = asked_for(source);
    int n = 0;
    for (int i = 0; p && i < NKEYS; i++) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(p->set[i], "="), p->set[i]);
        if (!tutti_job_is_given(source, key)) out[n++] = p->set[i];
    }
    return n;
}

void tutti_job_preset_describe(const tutti_job *job, tutti_strbuf *out)
{
    if (!job->optimiser.preset) return;
    const preset *p = &presets[job->optimiser.preset - 1];
    tutti_strbuf_printf(out, "preset %s:", p->name);
    for (int i = 0; i < NKEYS; i++) tutti_strbuf_printf(out, " %s", p->set[i] + strlen("optimiser."));
    tutti_strbuf_printf(out, "; of runs with batches of %d for %d to %d epochs; what the job says itself goes before",
                        p->batch, p->first_epochs, p->last_epochs);
}
