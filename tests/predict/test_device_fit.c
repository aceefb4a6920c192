/* SPDX-License-Identifier: Apache-2.0 */
/* test_device_fit.c: a fit finds the device that made the times, at batch sizes that it has not seen too. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "predict/device_fit.h"
#include "predict/parsed_device.h"

static void a_fit_finds_the_device_that_made_the_times(void **state)
{
    (void)state;
    static const char truth[] =
        "peak.f32 200e9 given: x\nmemory 10e9 given: x\ncache 2e6 given: x\ncache.rate 30e9 given: x\n"
        "launch 1e-6 given: x\nconv.compute 0.5 given: x\nconv.compute.params 0.25 given: x\n"
        "conv3x3.compute 0.9 given: x\npass.memory 0.5 given: x\nnorm.memory.data 0.75 given: x\n";
    static const char job[] =
        "model: resnet50\ndata: {set: noise, shape: [3, 224, 224], classes: 1000}\nbatch: 1\nsteps: 1\n"
        "kernels: reference\noptimiser: {lr: 0.1}\n";
    tutti_resolved r = resolved(job, NULL), unseen = resolved(job, "batch=3");
    tutti_device made = device(truth);
    tutti_profile p = {0}, q = {0};
    assert_int_equal(tutti_profile_of_device(&made, r.graph, &p, NULL), TUTTI_OK);
    assert_int_equal(tutti_profile_of_device(&made, unseen.graph, &q, NULL), TUTTI_OK);
    tutti_device_sample *samples = calloc((size_t)p.nlayers * TUTTI_NPASSES, sizeof *samples);
    double *errors = calloc((size_t)p.nlayers * TUTTI_NPASSES, sizeof *errors);
    int n = tutti_device_samples(r.graph, &p, samples);
    assert_true(n > p.nlayers);
    tutti_strbuf text = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_device_fit(samples, n, 2e6, &text, &err), TUTTI_OK);
    tutti_device fit = device(text.text);
    assert_int_equal(tutti_device_errors(&fit, samples, n, errors), n);
    for (int i = 0; i < n; i++) assert_true(errors[i] < 1e-4); /* figures are printed with six digits */
    n = tutti_device_samples(unseen.graph, &q, samples);
    tutti_device_errors(&fit, samples, n, errors);
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += errors[i] > 1e-4;
    assert_true(wrong <
                n / 20); /* of a class whose samples were all computing, or all memory, the other side is not known */
    assert_int_equal(tutti_device_fit(samples, 0, 2e6, &text, &err), TUTTI_ERR_FAILED);
    free(samples);
    free(errors);
    tutti_strbuf_release(&text);
    tutti_device_release(&fit);
    tutti_device_release(&made);
    tutti_profile_release(&p);
    tutti_profile_release(&q);
    tutti_resolved_release(&r);
    tutti_resolved_release(&unseen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_finds_the_device_that_made_the_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
