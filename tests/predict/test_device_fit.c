/* SPDX-License-Identifier: Apache-2.0 */
/* test_device_fit.c: a fit finds the device that made the times, at batch sizes that it has not seen too. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "predict/parsed_device.h"
#include "predict/profile/processor_model.h"

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
    tutti_processor_model made = device(truth);
    tutti_profile p = {0}, q = {0};
    assert_int_equal(tutti_profile_of_processor_model(&made, r.graph, &p, NULL), TUTTI_OK);
    assert_int_equal(tutti_profile_of_processor_model(&made, unseen.graph, &q, NULL), TUTTI_OK);
    tutti_processor_model_sample *samples = calloc((size_t)p.nlayers * TUTTI_NPASSES, sizeof *samples);
    double *errors = calloc((size_t)p.nlayers * TUTTI_NPASSES, sizeof *errors);
    int n = tutti_processor_model_samples(r.graph, &p, samples);
    assert_true(n > p.nlayers);
    tutti_strbuf text = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_processor_model_fit(samples, n, 2e6, &text, &err), TUTTI_OK);
    tutti_processor_model fit = device(text.text);
    assert_int_equal(tutti_processor_model_errors(&fit, samples, n, errors), n);
    for (int i = 0; i < n; i++) assert_true(errors[i] < 1e-4); /* figures are printed with six digits */
    n = tutti_processor_model_samples(unseen.graph, &q, samples);
    tutti_processor_model_errors(&fit, samples, n, errors);
    int wrong = 0;
    for (int i = 0; i < n; i++) wrong += errors[i] > 1e-4;
    assert_true(wrong <
                n / 20); /* of a class whose samples were all computing, or all memory, the other side is not known */
    assert_int_equal(tutti_processor_model_fit(samples, 0, 2e6, &text, &err), TUTTI_ERR_FAILED);
    free(samples);
    free(errors);
    tutti_strbuf_release(&text);
    tutti_processor_model_release(&fit);
    tutti_processor_model_release(&made);
    tutti_profile_release(&p);
    tutti_profile_release(&q);
    tutti_resolved_release(&r);
    tutti_resolved_release(&unseen);
}

/* Kernels of one class from microseconds to a second, each by both sides of the roofline; returns how many. */
static int ladder(const tutti_processor_model *d, tutti_processor_model_class class, const char *by,
                  tutti_precision precision, tutti_processor_model_sample *out)
{
    enum { STEPS = 12 };
    const bool is_product = class <= TUTTI_DEVICE_DENSE;
    int n = 0;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++)
        for (int i = 0; i < 2 * STEPS; i++) {
            const double size = 1e4 * (double)(1 << (i % STEPS));
            tutti_processor_model_sample *s = &out[n++];
            *s = (tutti_processor_model_sample){
                .work = {.class = class, .is_product = is_product, .by = by, .flops = size, .bytes = size},
                .pass = (tutti_kernel_pass)pass,
                .precision = precision};
            *(i < STEPS ? &s->work.flops : &s->work.bytes) *= 100;
            s->seconds = tutti_processor_model_seconds(d, precision, s->pass, &s->work);
        }
    return n;
}

static void kernels_precisions_launches_and_caches_are_told_apart(void **state)
{
    (void)state;
    static const char truth[] =
        "peak.f32 100e9 given: x\npeak.bf16 200e9 given: x\nmemory 10e9 given: x\ncache 1e6 given: x\n"
        "cache.rate 50e9 given: x\nlaunch 1e-6 given: x\nconv3x3/winograd.compute 2 given: x\n"
        "conv3x3/onednn.compute 0.5 given: x\nconv3x3/onednn.memory 0.25 given: x\nconv3x3/onednn.cache 0.75 given: x\n"
        "conv3x3/winograd.launch 5e-6 given: x\nconv3x3/onednn/bf16.compute.data 0.125 given: x\n"
        "conv3x3/winograd.overlap 0 given: x\nnorm.memory 0.5 given: x\nnorm/bf16.launch 2e-6 given: "
        "x\nnorm.cache.params 0.125 given: x\n";
    tutti_processor_model made = device(truth);
    static tutti_processor_model_sample samples[600];
    double errors[600];
    int n = ladder(&made, TUTTI_DEVICE_CONV3X3, "winograd", TUTTI_PRECISION_F32, samples);
    n += ladder(&made, TUTTI_DEVICE_CONV3X3, "onednn", TUTTI_PRECISION_F32, samples + n);
    n += ladder(&made, TUTTI_DEVICE_CONV3X3, "onednn", TUTTI_PRECISION_BF16, samples + n);
    n += ladder(&made, TUTTI_DEVICE_NORM, "lanes", TUTTI_PRECISION_F32, samples + n);
    n += ladder(&made, TUTTI_DEVICE_NORM, "lanes", TUTTI_PRECISION_BF16, samples + n);
    n += ladder(&made, TUTTI_DEVICE_PASS, "lanes", TUTTI_PRECISION_F32, samples + n);
    tutti_strbuf text = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_processor_model_fit(samples, n, 1e6, &text, &err), TUTTI_OK);
    assert_non_null(strstr(text.text, "\nconv3x3/winograd/f32.launch.data 5e-06 fitted: 24 kernels"));
    assert_non_null(strstr(text.text, "\nconv3x3/winograd/f32.overlap.data 0 fitted: 24 kernels"));
    assert_non_null(strstr(text.text, "\nnorm/bf16.launch.forward 2e-06 fitted: 24 kernels"));
    assert_null(strstr(text.text, "norm/lanes")); /* nobody else computes it */
    tutti_processor_model fit = device(text.text);
    assert_int_equal(tutti_processor_model_errors(&fit, samples, n, errors), n);
    for (int i = 0; i < n; i++) assert_true(errors[i] < 1e-4);
    tutti_processor_model_release(&fit);
    tutti_processor_model_release(&made);
    tutti_strbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_finds_the_device_that_made_the_times),
        cmocka_unit_test(kernels_precisions_launches_and_caches_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
