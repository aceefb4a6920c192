/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_ops.c: every op on a device against the CPU, on the small shapes of bench/gpu: on a card, where there is
 * one or a library that plays it; on the row whose memory the host cannot follow; and on devices that are wrong in some
 * way, which must be found. */
#include "cuda/cuda_rig.h"

#include "../bench/gpu/gpu_cases.h"
#include "device/apart_device.h"
#include "training/run/step/step_work.h"

/* Convolutions and dense layers on a card are the business of NVIDIA's libraries. */
static bool can_compute(const tutti_device *d, const char *op)
{
    if (d->kind != TUTTI_DEVICE_CUDA) return true;
    return !strcmp(op, "conv") ? rig_has("cudnn") : !strcmp(op, "dense") ? rig_has("cublasLt") : true;
}

/* Checks all small cases; stops at the first that fails. */
static void check_all(const tutti_device *d)
{
    const gpu_case *c;
    gpu_setting at;
    gpu_bench bench = {.device = d, .engine = "auto", .nthreads = 1};
    int ncases = 0;
    for (int i = 0; (c = gpu_case_at(i)); i++)
        for (int n = 0; c->quick && can_compute(d, c->op) && gpu_setting_at(c, n, &at); n++, ncases++) {
            char setting[64];
            gpu_outcome out;
            tutti_failure err = {0};
            gpu_setting_text(&at, setting);
            bench.layer++;
            if (gpu_check(&bench, c, &at, &out, &err)) fail_msg("%s, %s, %s: %s", c->op, c->what, setting, err.text);
            if (out.failed)
                fail_msg("%s, %s, %s (%s): %s: %s", c->op, c->what, setting, out.engine,
                         tutti_kernel_pass_name(out.pass), out.why);
        }
    assert_true(ncases > 500);
}

static void every_op_on_a_device_apart_gives_what_plain_loops_give(void **state)
{
    (void)state;
    apart_memory memory = {0};
    apart_queue queue;
    apart_device apart;
    pthread_mutex_init(&memory.lock, NULL);
    apart_make(&memory, &queue, &apart);
    check_all(&apart.row);
    assert_int_equal(memory.n, 0);
}

/* Where TUTTI_CUDA_PATH says where CUDA's libraries are and NVRTC is found, they must work. */
static void every_op_on_a_card_gives_what_the_cpu_gives(void **state)
{
    (void)state;
    const tutti_device *card = NULL;
    tutti_failure err = {0};
    if (!rig_has("nvrtc")) skip();
    if (tutti_device_connect("cuda", 0, &card, NULL, &err)) {
        if (getenv("TUTTI_CUDA_PATH")) fail_msg("%s", err.text);
        print_message("skipped: %s (a card, its driver)\n", err.text);
        skip();
    }
    check_all(card);
    tutti_device_disconnect(card);
}

/* ---- what is wrong is found ---- */

typedef enum { RIGHT, IDLE, OFF, MOVING, BEYOND, ONES, NWRONGS } wrong;

/* The device is the CPU, but wrong in one pass. */
typedef struct {
    tutti_device row; /* first */
    wrong how;
    tutti_kernel_pass pass;
    int nruns;
} wrong_device;

/* Finds what the pass writes first, and how many numbers that has. */
static void *written(const tutti_kernel_work *w, tutti_kernel_pass pass, int64_t *n)
{
    const tutti_value *v = pass == TUTTI_PASS_FORWARD ? &w->kernel->out : &w->kernel->in[0];
    *n = pass == TUTTI_PASS_PARAMS ? w->kernel->params[0].elements : tutti_shape_count(&v->shape);
    return pass == TUTTI_PASS_FORWARD ? w->args.out : pass == TUTTI_PASS_PARAMS ? w->args.dparam[0] : w->args.din[0];
}

static void spoil(wrong_device *d, const tutti_kernel_work *w)
{
    int64_t n;
    float *x = written(w, d->pass, &n);
    if (!x) return;
    if (d->how == OFF) x[n / 2] += 0.01f;
    if (d->how == MOVING) ((uint32_t *)(void *)x)[n - 1] ^= (uint32_t)(d->nruns & 1);
    if (d->how == BEYOND) x[n] = 0;
    for (int64_t i = 0; i < n && d->how == ONES; i++) x[i] = 1;
}

static tutti_event launch_wrong(const tutti_device *row, const tutti_queue_work *work, const void *args)
{
    static const tutti_work_kind kinds[] = {TUTTI_WORK_FORWARD, TUTTI_WORK_PARAMS, TUTTI_WORK_DATA};
    wrong_device *d = (wrong_device *)(uintptr_t)row;
    const bool is_it = work == tutti_work_of(row, kinds[d->pass]);
    if (!is_it || d->how != IDLE) work->run(row, args, (const char *)args + work->varying_at);
    if (is_it) d->nruns++, spoil(d, args);
    return (tutti_event){0};
}

static const gpu_case *find_case(const char *op, const char *what)
{
    const gpu_case *c = NULL;
    for (int i = 0; (c = gpu_case_at(i)); i++)
        if (!strcmp(c->op, op) && !strcmp(c->what, what)) return c;
    fail_msg("no case %s, %s", op, what);
    return NULL;
}

static gpu_outcome check_wrong(const gpu_case *c, wrong how, tutti_kernel_pass pass)
{
    wrong_device d = {.row = *tutti_device_cpu(), .how = how, .pass = pass};
    gpu_outcome out;
    tutti_failure err = {0};
    d.row.launch = launch_wrong;
    const gpu_bench bench = {.device = &d.row, .engine = "reference", .nthreads = 1};
    const gpu_setting at = {.order = TUTTI_ORDER_NCHW, .training = true};
    if (gpu_check(&bench, c, &at, &out, &err)) fail_msg("%s", err.text);
    assert_true(d.nruns > 0);
    return out;
}

static void a_device_that_is_wrong_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *op, *what;
        bool params; /* it has some */
    } of[] = {{"conv", "20 channels to 50", true}, {"dense", "odd sizes", true}, {"sigmoid", "two dims", false}};
    static const char *const words[NWRONGS] = {
        [IDLE] = "nan", [OFF] = "off by", [MOVING] = "other bits", [BEYOND] = "writes outside", [ONES] = "off by"};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int how = RIGHT; how < NWRONGS; how++)
            for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
                if (pass == TUTTI_PASS_PARAMS && !of[i].params) continue;
                const gpu_outcome out =
                    check_wrong(find_case(of[i].op, of[i].what), (wrong)how, (tutti_kernel_pass)pass);
                if (out.failed != (how != RIGHT)) fail_msg("%s, %d, pass %d: '%s'", of[i].op, how, pass, out.why);
                if (how == RIGHT) continue;
                if (!strstr(out.why, words[how])) fail_msg("%s, %d, pass %d: '%s'", of[i].op, how, pass, out.why);
                if (how != BEYOND) assert_int_equal(out.pass, pass);
            }
}

/* Adds 1 to dout where a ReLU gave zero: the gradient of the input is no longer that of the CPU. */
static tutti_event launch_masking(const tutti_device *row, const tutti_queue_work *work, const void *args)
{
    const tutti_kernel_work *w = args;
    if (work == tutti_work_of(row, TUTTI_WORK_DATA))
        for (int64_t i = 0; i < tutti_shape_count(&w->kernel->out.shape); i++)
            if (((const float *)w->args.out)[i] <= 0) ((float *)w->args.dout)[i] += 1;
    work->run(row, args, (const char *)args + work->varying_at);
    return (tutti_event){0};
}

static void a_gradient_that_is_not_masked_is_found(void **state)
{
    (void)state;
    tutti_device d = *tutti_device_cpu();
    gpu_outcome out;
    tutti_failure err = {0};
    d.launch = launch_masking;
    const gpu_bench bench = {.device = &d, .engine = "reference", .nthreads = 1};
    const gpu_setting at = {.order = TUTTI_ORDER_NCHW, .training = true, .relu = true};
    if (gpu_check(&bench, find_case("dense", "odd sizes"), &at, &out, &err)) fail_msg("%s", err.text);
    assert_true(out.failed && out.pass == TUTTI_PASS_DATA);
}

int main(void)
{
    const struct CMUnitTest on_a_card[] = {cmocka_unit_test(every_op_on_a_card_gives_what_the_cpu_gives)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_is_wrong_is_found),
        cmocka_unit_test(a_gradient_that_is_not_masked_is_found),
        cmocka_unit_test(every_op_on_a_device_apart_gives_what_plain_loops_give),
        cmocka_unit_test(every_op_on_a_card_gives_what_the_cpu_gives),
    };
    /* Where CUDA's libraries are named, all that wants no card has run without them. */
    if (getenv("TUTTI_CUDA_PATH")) return cmocka_run_group_tests(on_a_card, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
