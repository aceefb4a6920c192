/* SPDX-License-Identifier: Apache-2.0 */
/* test_candidates_check.c: what `tutti plan check` does, for jobs of networks of the zoo by every candidate of the
 * table, by each pass of another, and with kernels that may skip zeros: the plan is proved over two consecutive steps.
 * Kernels say what they read, keep, change and need beside, and the plan shares memory by that. Its long form has all
 * networks. */
#include "../told_job.h"

#include <unistd.h>

#include "training/plan/plan.h"

static void expect_proof_of(const char *text)
{
    tutti_job *job = NULL;
    tutti_resolved r;
    tutti_failure err = {0};
    told_resolve(text, &job, &r);
    tutti_status st = tutti_plan_check_schedules(r.plan, &err);
    if (!st) st = tutti_plan_check(r.plan, &err);
    if (st) fail_msg("%s%s", text, err.text);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
}

static void plans_are_proved_by_every_candidate(void **state)
{
    (void)state;
    static const char *const ways[] = {"ranks: 2\n", "ranks: 2\nreduction: canonical\nslots: 4\n",
                                       "ranks: 2\nprecision: bf16\nexchange: {update: replicated}\n"};
    const char *name;
    char model[ZOO_PATH], text[ZOO_JOB];
    int n = 0;
    for (int m = 0; zoo_at(m, model); m++)
        for (int i = 0; (name = tutti_candidate_name_at(i)); i++)
            for (int w = 0; w < 3; w++) {
                if (!told_job_by(model, name, ways[w], text)) continue;
                expect_proof_of(text);
                n++;
            }
    assert_true(n > 0);
}

static void plans_are_proved_by_each_pass_of_another(void **state)
{
    (void)state;
    char model[ZOO_PATH], text[ZOO_JOB], path[] = "/tmp/tutti_told_XXXXXX";
    close(mkstemp(path));
    int njoined = 0;
    for (int m = 0; zoo_at(m, model); m++) {
        njoined += told_job_by_others(model, m, path, text);
        expect_proof_of(text);
    }
    unlink(path);
    char words[96];
    tutti_kernel_engine_describe("onednn", words);
    assert_true(njoined > 0 || !words[0]);
}

static void plans_with_kernels_that_may_skip_zeros_are_proved(void **state)
{
    (void)state;
    char model[ZOO_PATH], text[ZOO_JOB];
    for (int m = 0; zoo_at(m, model); m++) {
        zoo_job(model, "kernels: {sparse: auto}\nranks: 2\n", text);
        expect_proof_of(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_proved_by_every_candidate),
        cmocka_unit_test(plans_are_proved_by_each_pass_of_another),
        cmocka_unit_test(plans_with_kernels_that_may_skip_zeros_are_proved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
