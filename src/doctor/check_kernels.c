/* SPDX-License-Identifier: Apache-2.0 */
/* check_kernels.c: checks of what computes on the processor: instruction set, oneDNN, threads, and the kernels that the
 * chooser takes for whole networks. */
#include <stdlib.h>

#include "../base/clock.h"
#include "../kernel/crew.h"
#include "../kernel/kernel.h"
#include "../tensor/isa.h"
#include "../training/graph/graph.h"
#include "doctor_impl.h"

enum { BATCH = 32 }; /* number of samples in the batch for which kernels are chosen */

void tutti_doctor_check_instructions(tutti_exam *e)
{
    tutti_isa best = TUTTI_ISA_GENERIC;
    char bf16[96];
    for (int isa = 0; isa < TUTTI_NISAS; isa++)
        if (tutti_isa_runs((tutti_isa)isa)) best = (tutti_isa)isa;
    tutti_kernel_precision_describe("auto", TUTTI_PRECISION_BF16, bf16);
    const char *here = tutti_isa_name(tutti_isa_here());
    if (tutti_isa_here() != best)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Unset TUTTI_ISA for the fastest loops.",
                         "loops use %s because TUTTI_ISA says so; the processor has %s", here, tutti_isa_name(best));
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "loops use %s; precisions f32, %s", here, bf16);
}

void tutti_doctor_check_onednn(tutti_exam *e)
{
    char words[96];
    tutti_kernel_engine_describe("onednn", words);
    if (words[0])
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s", words);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Install libdnnl-dev (./dev setup) and build again.",
                         "this build has no oneDNN, so many layers take plain loops");
}

void tutti_doctor_check_threads(tutti_exam *e)
{
    tutti_failure err = {0};
    const double begin = tutti_clock_s();
    if (tutti_crew_prepare(e->ncores, &err))
        tutti_doctor_say_failure(e, TUTTI_FINDING_BAD, err.text,
                                 "Raise ulimit -u and pids.max, or run with --set threads=1.");
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "a team of %d starts in %s", e->ncores,
                         tutti_time_words(tutti_clock_s() - begin).text);
}

/* --- families: which kernels the chooser takes for the layers of whole networks --- */

/* Finds the kernels that the chooser takes for a whole network. A single layer would mislead, because the memory orders
 * of its neighbours matter too. */
static tutti_status choose(const char *network, char **said, tutti_failure *err)
{
    const tutti_graph_config config = {.batch = BATCH, .engine = "auto", .nthreads = 1, .training = true};
    tutti_model *model = NULL, *fused = NULL;
    tutti_graph *graph = NULL;
    tutti_status st = tutti_model_load(network, NULL, &model, err);
    if (!st) fused = tutti_model_fuse(model);
    if (!st) st = tutti_graph_build(fused, &config, &graph, err);
    *said = st ? NULL : tutti_graph_say_choices(graph);
    tutti_graph_destroy(graph);
    tutti_model_destroy(fused), tutti_model_destroy(model);
    return st;
}

void tutti_doctor_check_families(tutti_exam *e)
{
    static const char *const networks[] = {"lenet", "alexnet", "resnet50"};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        char *said;
        tutti_failure err = {0};
        if (choose(networks[i], &said, &err))
            tutti_doctor_say(e, networks[i], TUTTI_FINDING_BAD, "Ask for plain loops: --set kernels=reference.", "%s",
                             err.text);
        else
            tutti_doctor_say(e, networks[i], TUTTI_FINDING_OK, NULL, "%s (passes at %d samples, 1 thread)",
                             said ? said : "plain loops alone", BATCH);
        free(said);
    }
}
