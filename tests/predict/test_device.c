/* SPDX-License-Identifier: Apache-2.0 */
/* test_device.c: times of kernels on devices: the arithmetic by hand on a made-up one, exactly; what files of devices
 * must say. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "job/resolve.h"
#include "predict/parsed_device.h"
#include "predict/profile/processor_figures.h"
#include "predict/profile/processor_model.h"
#include "tutti/predict.h"

/* Powers of two, so that quotients are exact. */
static const char made_up[] = "about: made up\n"
                              "peak.f32 1048576 given: 2^20\n"
                              "memory 65536 given: 2^16\n"
                              "launch 0.5 given: half a second\n"
                              "load 0.25 given: a quarter of a second a byte\n"
                              "dense.compute 0.5 given: half\n"
                              "dense.compute.data 2 given: twice the peak\n"
                              "pass.memory 0.25 given: a quarter\n"
                              "pass.memory.data 0.125 given: an eighth\n";
static const char mlp[] = "model: mlp\nbatch: 8\nsteps: 1\nkernels: reference\nfuse: false\noptimiser: {lr: 0.1}\n";

static void a_kernel_takes_its_launch_and_the_longer_of_computing_and_memory(void **state)
{
    (void)state;
    tutti_resolved r = resolved(mlp, NULL);
    tutti_processor_model d = device(made_up);
    tutti_profile p = {0};
    assert_int_equal(tutti_profile_of_processor_model(&d, r.graph, &p, NULL), TUTTI_OK);
    assert_int_equal(p.nlayers, 4);
    assert_int_equal(p.samples_per_call, 8);
    /* fc1: 8 x 784 -> 8 x 128, weight and bias in f32; FLOPs two a term and one for the bias */
    const double flops = (2 * 784 + 1) * 8.0 * 128, params = (784 * 128 + 128) * 4.0, in = 8 * 784 * 4.0,
                 out = 8 * 128 * 4.0;
    const double product = flops / (0x1p20 * 0.5);
    assert_true(p.layers[0].forward_s == 0.5 + fmax(product, (in + out + params) / 0x1p16));
    assert_true(p.layers[0].params_s == 0.5 + fmax(product, (out + params + in) / 0x1p16));
    assert_true(p.layers[0].data_s == 0); /* nobody wants the gradient of pictures */
    /* the ReLU: its output again, the gradient of it, what it makes of that; three times memory at an eighth */
    assert_true(p.layers[1].forward_s == 0.5 + (out + out) / (0x1p16 * 0.25));
    assert_true(p.layers[1].params_s == 0);
    assert_true(p.layers[1].data_s == 0.5 + 3 * out / (0x1p16 * 0.125));
    /* fc2's gradient of its input: the pass has an efficiency of its own, above 1 */
    const double flops2 = (2 * 128 + 1) * 8.0 * 10, params2 = (128 * 10 + 10) * 4.0, out2 = 8 * 10 * 4.0;
    assert_true(p.layers[2].data_s == 0.5 + fmax(flops2 / (0x1p20 * 2), (out2 + out + params2) / 0x1p16));
    assert_true(p.update_s_per_element == 20 / (0x1p16 * 0.25));
    assert_true(p.load_s_per_sample == 0.25 * 784 * 4);
    tutti_profile_release(&p);
    tutti_processor_model_release(&d);
    tutti_resolved_release(&r);
}

static void what_fits_the_cache_goes_at_its_rate(void **state)
{
    (void)state;
    tutti_resolved r = resolved(mlp, NULL);
    char text[600];
    snprintf(text, sizeof text, "%scache 16384 given: 2^14\ncache.rate 1048576 given: 2^20\n", made_up);
    tutti_processor_model d = device(text);
    tutti_profile p = {0};
    assert_int_equal(tutti_profile_of_processor_model(&d, r.graph, &p, NULL), TUTTI_OK);
    const double out = 8 * 128 * 4.0; /* twice that is less than the cache, thrice too */
    assert_true(p.layers[1].forward_s == 0.5 + (out + out) / (0x1p20 * 0.25));
    const double params = (784 * 128 + 128) * 4.0, in = 8 * 784 * 4.0;
    assert_true(p.layers[0].forward_s >= 0.5 + (in + out + params) / 0x1p16); /* more than the cache */
    tutti_profile_release(&p);
    tutti_processor_model_release(&d);
    tutti_resolved_release(&r);
}

static const tutti_layer_time *time_of(const tutti_profile *p, const char *layer)
{
    for (int l = 0; l < p->nlayers; l++)
        if (!strcmp(p->layers[l].name, layer)) return &p->layers[l];
    fail_msg("no layer %s", layer);
    return NULL;
}

static void classes_that_are_not_named_go_by_those_that_they_belong_to(void **state)
{
    (void)state;
    static const char head[] = "peak.f32 1e12 given: x\nmemory 1e15 given: x\nlaunch 0 given: x\n";
    static const char job[] =
        "model: resnet50\ndata: {set: noise, shape: [3, 224, 224], classes: 1000}\nbatch: 1\nsteps: 1\n"
        "kernels: reference\noptimiser: {lr: 0.1}\n";
    tutti_resolved r = resolved(job, NULL);
    char text[400];
    tutti_profile all = {0}, some = {0};
    snprintf(text, sizeof text, "%sconv.compute 0.5 given: x\n", head);
    tutti_processor_model plain = device(text);
    snprintf(text, sizeof text,
             "%sconv.compute 0.5 given: x\nconv3x3.compute 0.25 given: x\nstem.compute.forward 1 given: x\n", head);
    tutti_processor_model special = device(text);
    assert_int_equal(tutti_profile_of_processor_model(&plain, r.graph, &all, NULL), TUTTI_OK);
    assert_int_equal(tutti_profile_of_processor_model(&special, r.graph, &some, NULL), TUTTI_OK);
    const char *one = "layer1.0.conv1", *three = "layer1.0.conv2", *strided = "layer2.0.conv2";
    assert_true(time_of(&some, one)->forward_s == time_of(&all, one)->forward_s);
    assert_true(time_of(&some, three)->forward_s == 2 * time_of(&all, three)->forward_s);
    assert_true(time_of(&some, strided)->forward_s == time_of(&all, strided)->forward_s);
    assert_true(2 * time_of(&some, "conv1")->forward_s == time_of(&all, "conv1")->forward_s);
    assert_true(time_of(&some, "conv1")->params_s == time_of(&all, "conv1")->params_s);
    tutti_profile_release(&all);
    tutti_profile_release(&some);
    tutti_processor_model_release(&plain);
    tutti_processor_model_release(&special);
    tutti_resolved_release(&r);
}

static double seconds_of(const tutti_processor_model *d, tutti_processor_model_class class, const char *by,
                         tutti_precision precision, tutti_kernel_pass pass)
{
    const tutti_processor_model_work work = {
        .class = class, .is_product = class <= TUTTI_DEVICE_DENSE, .flops = 0x1p30, .bytes = 16, .by = by};
    return tutti_processor_model_seconds(d, precision, pass, &work);
}

static void a_figure_of_a_kernel_counts_before_one_of_a_precision_and_that_before_one_of_a_pass(void **state)
{
    (void)state;
    static const char text[] = "peak.f32 1073741824 given: 2^30\npeak.bf16 1073741824 given: 2^30\n"
                               "memory 1e30 given: x\nlaunch 0 given: x\n"
                               "conv.compute 0.5 given: x\nconv.compute.data 0.25 given: x\n"
                               "conv/bf16.compute 0.125 given: x\nconv/lanes.compute 0.0625 given: x\n"
                               "conv/lanes/bf16.compute 0.03125 given: x\nconv/lanes/bf16.compute.data 1 given: x\n"
                               "conv3x3/winograd.compute 2 given: x\n";
    const tutti_precision f32 = TUTTI_PRECISION_F32, bf16 = TUTTI_PRECISION_BF16;
    tutti_processor_model d = device(text);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, NULL, f32, TUTTI_PASS_FORWARD) == 2);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, "onednn", f32, TUTTI_PASS_FORWARD) == 2);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, "onednn", f32, TUTTI_PASS_DATA) == 4);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, "onednn", bf16, TUTTI_PASS_DATA) == 8);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, "lanes", f32, TUTTI_PASS_DATA) == 16);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, "lanes", bf16, TUTTI_PASS_FORWARD) == 32);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, "lanes", bf16, TUTTI_PASS_DATA) == 1);
    /* of a class that has nothing of that kernel: what it belongs to */
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV3X3, "winograd", f32, TUTTI_PASS_DATA) == 0.5);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV3X3, "lanes", f32, TUTTI_PASS_DATA) == 16);
    assert_true(seconds_of(&d, TUTTI_DEVICE_DENSE, "lanes", f32, TUTTI_PASS_DATA) == 1);
    tutti_processor_model_release(&d);
}

static void a_class_may_have_a_launch_a_share_of_the_cache_and_an_overlap_of_its_own(void **state)
{
    (void)state;
    static const char text[] = "peak.f32 1e30 given: x\nmemory 4 given: x\ncache 16 given: x\ncache.rate 8 given: x\n"
                               "launch 1 given: x\npass.memory 0.5 given: x\nnorm.cache 2 given: x\n"
                               "norm.launch 3 given: x\npass.launch.data 5 given: x\n";
    tutti_processor_model d = device(text);
    const tutti_precision f32 = TUTTI_PRECISION_F32;
    tutti_processor_model_work work = {.class = TUTTI_DEVICE_PASS, .bytes = 16};
    assert_true(tutti_processor_model_seconds(&d, f32, TUTTI_PASS_FORWARD, &work) == 1 + 4); /* the memory's share */
    assert_true(tutti_processor_model_seconds(&d, f32, TUTTI_PASS_DATA, &work) == 5 + 4);
    work.class = TUTTI_DEVICE_NORM;
    assert_true(tutti_processor_model_seconds(&d, f32, TUTTI_PASS_FORWARD, &work) == 3 + 1);
    work.bytes = 32; /* more than the cache holds */
    assert_true(tutti_processor_model_seconds(&d, f32, TUTTI_PASS_FORWARD, &work) == 3 + 16);
    tutti_processor_model_release(&d);
    d = device("peak.f32 16 given: x\nmemory 4 given: x\nlaunch 1 given: x\npool.overlap 0.25 given: x\n");
    work = (tutti_processor_model_work){.class = TUTTI_DEVICE_AVGPOOL, .flops = 64, .bytes = 32};
    assert_true(tutti_processor_model_seconds(&d, f32, TUTTI_PASS_FORWARD, &work) == 1 + 8 + 0.75 * 4);
    work.class = TUTTI_DEVICE_LRN;
    assert_true(tutti_processor_model_seconds(&d, f32, TUTTI_PASS_FORWARD, &work) == 1 + 8);
    tutti_processor_model_release(&d);
}

static void keys_of_classes_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (int class = 0; class < TUTTI_DEVICE_NCLASSES; class ++)
        for (int term = 0; term < TUTTI_DEVICE_NTERMS; term++)
            for (int precision = -1; precision < TUTTI_NPRECISIONS; precision++)
                for (int pass = -1; pass < TUTTI_NPASSES; pass++)
                    for (int kernel = -1; kernel < 0 || tutti_candidate_name_at(kernel); kernel++) {
                        const tutti_processor_model_figure f = {.class = (tutti_processor_model_class) class,
                                                                .term = (tutti_processor_model_term)term,
                                                                .kernel =
                                                                    kernel < 0 ? NULL : tutti_candidate_name_at(kernel),
                                                                .precision = precision,
                                                                .pass = pass};
                        tutti_processor_model_figure again;
                        char key[TUTTI_DEVICE_KEY];
                        tutti_processor_model_key_write(&f, key);
                        if (!tutti_processor_model_key_read(key, &again)) fail_msg("%s is not read", key);
                        assert_true(again.class == f.class && again.term == f.term && again.kernel == f.kernel &&
                                    again.precision == precision && again.pass == pass);
                    }
    static const char *const bad[] = {"",
                                      "conv",
                                      "conv/",
                                      "conv.",
                                      "conv/lanes",
                                      "conv/.compute",
                                      "conv/theano.compute",
                                      "conv/bf16/lanes.compute",
                                      "conv/lanes/onednn.compute",
                                      "conv/bf16/f32.compute",
                                      "conv.compute/bf16",
                                      "conv.compute.forward.data",
                                      "conv.compute.",
                                      "conv.forward",
                                      "cone.compute",
                                      ".compute"};
    tutti_processor_model_figure f;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (tutti_processor_model_key_read(bad[i], &f)) fail_msg("'%s' is read", bad[i]);
}

static void every_device_that_comes_along_is_read_and_says_where_its_figures_are_from(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double most_peak, most_rate;
    } wanted[] = {{"k20", 2e13, 1e12},    {"k80", 2e13, 1e12},     {"p40", 2e13, 1e12},       {"p100", 2e13, 1e12},
                  {"v100", 2e13, 1e12},   {"knl7250", 2e13, 1e12}, {"e5-2698v3", 2e13, 1e12}, {"gtx1080", 2e13, 1e12},
                  {"h200", 1e14, 1e13},   {"a100", 2e13, 3e12},    {"h100", 1e14, 5e12},      {"b200", 1e14, 1e13},
                  {"mi300x", 1e14, 1e13}, {"rtx4090", 1e14, 2e12}, {"epyc9654", 1e13, 1e12},  {"xeon8480", 1e13, 1e12}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        tutti_processor_model d;
        tutti_failure err = {0};
        if (tutti_processor_model_open(wanted[i].name, &d, &err)) fail_msg("%s", err.text);
        assert_true(d.peak[TUTTI_PRECISION_F32] > 1e12 && d.peak[TUTTI_PRECISION_F32] < wanted[i].most_peak);
        assert_true(d.rate > 1e11 && d.rate < wanted[i].most_rate);
        for (int l = 0; l < d.file.n; l++)
            if (d.file.lines[l].from) assert_true(strlen(d.file.lines[l].words) > 4);
        tutti_processor_model_release(&d);
    }
    int n = 0;
    while (tutti_processor_model_shipped_at(n)) n++;
    assert_int_equal(n, sizeof wanted / sizeof *wanted);
}

static void a_device_that_is_like_another_takes_what_it_does_not_say(void **state)
{
    (void)state;
    tutti_processor_model h200, h100;
    assert_int_equal(tutti_processor_model_open("h200", &h200, NULL), TUTTI_OK);
    assert_int_equal(tutti_processor_model_open("h100", &h100, NULL), TUTTI_OK);
    assert_true(h100.peak[TUTTI_PRECISION_BF16] == h200.peak[TUTTI_PRECISION_BF16]);
    assert_true(h100.launch_s == h200.launch_s && h100.rate < h200.rate);
    assert_string_equal(h100.kernels, h200.kernels);
    const tutti_processor_model_work work = {
        .class = TUTTI_DEVICE_CONV3X3, .is_product = true, .flops = 1e15, .bytes = 1};
    assert_true(tutti_processor_model_seconds(&h100, TUTTI_PRECISION_BF16, TUTTI_PASS_DATA, &work) ==
                tutti_processor_model_seconds(&h200, TUTTI_PRECISION_BF16, TUTTI_PASS_DATA, &work));
    tutti_processor_model_release(&h100);
    tutti_processor_model own = device("like: h200\nconv3x3/bf16.compute.data 0.0941666 given: a tenth\n");
    assert_true(tutti_processor_model_seconds(&own, TUTTI_PRECISION_BF16, TUTTI_PASS_DATA, &work) >
                9 * tutti_processor_model_seconds(&h200, TUTTI_PRECISION_BF16, TUTTI_PASS_DATA, &work));
    tutti_processor_model_release(&own);
    tutti_processor_model_release(&h200);
    static const char *const bad[] = {"like: h300\n", "like: h100\n", "like: ./h200.txt\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tutti_failure err = {0};
        assert_int_equal(tutti_processor_model_parse("f", bad[i], &own, &err), TUTTI_ERR_DATA);
        assert_non_null(strstr(err.text, "is not a device that comes along"));
    }
}

static void tf32_is_asked_for_by_name(void **state)
{
    (void)state;
    static const char text[] = "peak.f32 1e12 given: x\npeak.tf32 4e12 given: x\npeak.f16 8e12 given: x\n"
                               "memory 1e30 given: x\nlaunch 0 given: x\nconv/f32.compute 0.5 given: x\n"
                               "conv/bf16.compute 0.25 given: x\ndense/bf16.compute 0.125 given: x\n"
                               "dense/tf32.compute 1 given: x\npass/bf16.compute 0.01 given: x\n";
    tutti_processor_model d = device(text);
    const double f32 = seconds_of(&d, TUTTI_DEVICE_CONV, NULL, TUTTI_PRECISION_F32, TUTTI_PASS_FORWARD);
    assert_true(f32 == 0x1p30 / 0.5e12);
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, NULL, TUTTI_PRECISION_F16, TUTTI_PASS_FORWARD) == 0x1p30 / 2e12);
    d.uses_tf32 = true;
    assert_true(seconds_of(&d, TUTTI_DEVICE_CONV, NULL, TUTTI_PRECISION_F32, TUTTI_PASS_FORWARD) == 0x1p30 / 1e12);
    assert_true(seconds_of(&d, TUTTI_DEVICE_DENSE, NULL, TUTTI_PRECISION_F32, TUTTI_PASS_FORWARD) == 0x1p30 / 4e12);
    assert_true(seconds_of(&d, TUTTI_DEVICE_PASS, NULL, TUTTI_PRECISION_F32, TUTTI_PASS_FORWARD) == 0x1p30 / 1e12);
    tutti_processor_model_release(&d);
    tutti_failure err = {0};
    static const char *const none[] = {"v100:tf32", "epyc9654:tf32", "k80:tf32"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(tutti_processor_model_open(none[i], &d, &err), TUTTI_ERR_USAGE);
        assert_non_null(strstr(err.text, "has no figure peak.tf32"));
    }
    assert_int_equal(tutti_processor_model_open("a100:tf16", &d, &err), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_processor_model_open("rtx4090:tf32", &d, &err), TUTTI_OK);
    assert_true(d.uses_tf32 && d.peak_tf32 > 0);
    tutti_processor_model_release(&d);
}

static void bad_files_of_devices_are_refused_with_words(void **state)
{
    (void)state;
    static const char head[] = "peak.f32 1e12 given: x\nmemory 1e11 given: x\nlaunch 0 given: x\n";
    static const struct {
        const char *more, *words;
    } bad[] = {
        {"peek.f16 1e12 given: x\n", "line 4: no device has 'peek.f16'"},
        {"conv.compute 0 given: x\n", "line 4: conv.compute: an efficiency is from 1e-6"},
        {"conv.compute 101 given: x\n", "line 4: conv.compute: an efficiency is from 1e-6"},
        {"conv.compute.sideways 1 given: x\n", "no device has 'conv.compute.sideways'"},
        {"conv.compute -1 given: x\n", "line 4"},
        {"launch 1 given: x\n", "is given in line 3 already"},
        {"conv.cache 0 given: x\n", "line 4: conv.cache: an efficiency is from 1e-6"},
        {"conv/lanes/bf16.memory 101 given: x\n", "line 4: conv/lanes/bf16.memory: an efficiency is from 1e-6"},
        {"conv/theano.compute 1 given: x\n", "line 4: no device has 'conv/theano.compute'"},
        {"conv.overlap 1.5 given: x\n", "line 4: conv.overlap: an overlap is from 0 to 1, not 1.5"},
        {"conv.launch 1GB given: x\n", "line 4"},
        {"conv.launch -1 given: x\n", "line 4"},
        {"ranks: everywhere\n", "ranks: 'share a host' or 'alone'"},
        {"colour: red\n", "no device has 'colour'"},
        {"cache 1MB given: x\n", "cache.rate"},
    };
    tutti_processor_model d;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        tutti_failure err = {0};
        snprintf(text, sizeof text, "%s%s", head, bad[i].more);
        assert_int_equal(tutti_processor_model_parse("f", text, &d, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, bad[i].words)) fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].words);
    }
    tutti_failure err = {0};
    assert_int_equal(tutti_processor_model_parse("f", "peak.f32 1 given: x\n", &d, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "no line 'memory'"));
    assert_int_equal(
        tutti_processor_model_parse("f", "peak.f32 0 given: x\nmemory 1 given: x\nlaunch 0 given: x\n", &d, &err),
        TUTTI_ERR_DATA);
    assert_int_equal(tutti_processor_model_open("v1000", &d, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "did you mean 'v100'"));
    assert_int_equal(tutti_processor_model_open("/nonexistent/x.device", &d, &err), TUTTI_ERR_USAGE);
}

/* Nothing is chosen by predicted time, so that jobs on two devices exchange alike. */
static const char convnet[] =
    "model: convnet-bn\nbatch: 32\nsteps: 10\noptimiser: {lr: 0.1}\n"
    "exchange: {algorithm: rule, buckets: size, order: ready, update: sharded, update_when: late}\n";

static tutti_status predict(const char *override, const char *topology, const tutti_predict_options *options,
                            int nranks, tutti_prediction *out, tutti_failure *err)
{
    tutti_job *job = parse_job(convnet, override);
    tutti_topology t = parse_topology(topology);
    const tutti_status st = tutti_predict_job(job, &t, options, &nranks, 1, out, err);
    tutti_job_destroy(job);
    return st;
}

static void a_job_is_timed_on_a_device_without_measuring(void **state)
{
    (void)state;
    const tutti_predict_options on_v100 = {.device = "v100"}, on_k20 = {.device = "k20"},
                                weak = {.device = "v100", .weak = true};
    tutti_prediction v100, again, k20, each;
    tutti_failure err = {0};
    assert_int_equal(predict(NULL, "star", &on_v100, 4, &v100, &err), TUTTI_OK);
    assert_int_equal(predict("kernels=reference", "star", &on_v100, 4, &again, &err), TUTTI_OK);
    assert_int_equal(predict(NULL, "star", &on_k20, 4, &k20, &err), TUTTI_OK);
    assert_int_equal(predict(NULL, "star", &weak, 4, &each, &err), TUTTI_OK);
    assert_true(v100.step_s == again.step_s &&
                v100.exchange_s == again.exchange_s); /* whatever kernels this build has */
    assert_true(v100.exchanged_bytes == again.exchanged_bytes);
    assert_true(k20.compute_s > v100.compute_s && each.compute_s > v100.compute_s);
    assert_true(k20.exchange_s == v100.exchange_s);
}

static void what_does_not_go_with_a_device_is_refused(void **state)
{
    (void)state;
    const tutti_predict_options on_k80 = {.device = "k80"}, both = {.device = "k80", .read_trace = "x"};
    tutti_prediction p;
    tutti_failure err = {0};
    assert_int_equal(predict(NULL, "host", &on_k80, 2, &p, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "--topology"));
    assert_int_equal(predict(NULL, "star", &both, 2, &p, &err), TUTTI_ERR_USAGE);
    assert_int_equal(predict("precision=f16", "star", &on_k80, 2, &p, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "no figure peak.f16"));
}

static void what_workers_of_a_server_bring_travels_between_its_cards(void **state)
{
    (void)state;
    static const char job_text[] =
        "model: convnet-bn\nbatch: 32\nsteps: 10\noptimiser: {lr: 0.1}\nmethod: {name: easgd}\n";
    static const char *const topologies[] = {"pcie,pcie=12GB", "pcie,pcie=12MB,qpi=12MB"};
    double step_s[2];
    for (int i = 0; i < 2; i++) {
        tutti_job *job = parse_job(job_text, NULL);
        tutti_topology t = parse_topology(topologies[i]);
        const tutti_predict_options options = {.device = "k80"};
        const int nranks = 8;
        tutti_prediction p;
        tutti_failure err = {0};
        if (tutti_predict_job(job, &t, &options, &nranks, 1, &p, &err)) fail_msg("%s", err.text);
        step_s[i] = p.step_s;
        tutti_job_destroy(job);
    }
    assert_true(step_s[1] > 2 * step_s[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_takes_its_launch_and_the_longer_of_computing_and_memory),
        cmocka_unit_test(what_fits_the_cache_goes_at_its_rate),
        cmocka_unit_test(classes_that_are_not_named_go_by_those_that_they_belong_to),
        cmocka_unit_test(a_figure_of_a_kernel_counts_before_one_of_a_precision_and_that_before_one_of_a_pass),
        cmocka_unit_test(a_class_may_have_a_launch_a_share_of_the_cache_and_an_overlap_of_its_own),
        cmocka_unit_test(keys_of_classes_are_read_as_they_are_written),
        cmocka_unit_test(every_device_that_comes_along_is_read_and_says_where_its_figures_are_from),
        cmocka_unit_test(bad_files_of_devices_are_refused_with_words),
        cmocka_unit_test(a_device_that_is_like_another_takes_what_it_does_not_say),
        cmocka_unit_test(tf32_is_asked_for_by_name),
        cmocka_unit_test(a_job_is_timed_on_a_device_without_measuring),
        cmocka_unit_test(what_does_not_go_with_a_device_is_refused),
        cmocka_unit_test(what_workers_of_a_server_bring_travels_between_its_cards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
