/* SPDX-License-Identifier: Apache-2.0 */
/* test_fake_cudnn_faults.c: what the fake cuDNN refuses with a status, and what it reports besides: each in a process
 * of its own. */
#include "fake_libs_faults.h"

enum { BAD_PARAM = 2000, NULL_POINTER = 2002, MISALIGNED = 2003, TOO_SMALL = 2006, UNSUPPORTED = 3000, FAILED = 5000 };

static const conv_shape plain = {2, 8, 9, 7, 12, 3, 1, 1, 1, F32, false, 0},
                        narrow = {2, 16, 9, 7, 8, 3, 1, 1, 1, BF16, false, 0};

typedef struct {
    conv v;
    operand x, w, y;
    conv_memory m; /* fits algorithm 1 of each pass, which was asked for */
} rig;

static rig rig_of(const conv_shape *s, int math)
{
    rig r = {.v = conv_new(s, math)};
    size_t bytes = 0, most = 0;
    r.x = operand_new(s->type, 2 * s->batch * s->channels * s->height * s->width, 1);
    r.w = operand_new(s->type, 2 * s->filters * s->channels * s->kernel * s->kernel, 2);
    r.y = operand_new(s->type, 2 * s->batch * s->filters * r.v.out_height * r.v.out_width, 3);
    for (int pass = 0; pass < 3; pass++) {
        assert_int_equal(conv_workspace(&r.v, (conv_pass)pass, 1, &bytes), 0);
        assert_true(bytes % 64 != 0);
        if (bytes > most) most = bytes;
    }
    r.m = (conv_memory){r.x.at, r.w.at, r.y.at, room_of(most), most, 1, 0};
    return r;
}

static rig plain_rig(void)
{
    return rig_of(&plain, TUTTI_CUDNN_FMA_MATH);
}

static void each_pass(const rig *r, int status)
{
    for (int pass = 0; pass < 3; pass++) assert_int_equal(conv_run(&r->v, (conv_pass)pass, 1, &r->m), status);
    assert_int_equal(card.cuStreamSynchronize(card.stream), 0);
}

static void all_is_well(void)
{
    rig r = plain_rig(), half = rig_of(&narrow, TUTTI_CUDNN_TENSOR_OP_MATH);
    each_pass(&r, 0);
    each_pass(&half, 0);
}
static void null_pointers(void)
{
    rig r = plain_rig();
    conv_memory m = r.m;
    m.w = NULL;
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &m), NULL_POINTER);
    r.v.y = NULL;
    each_pass(&r, BAD_PARAM);
    assert_int_equal(dnn.cudnnSetStream(NULL, card.stream), BAD_PARAM);
    assert_int_equal(dnn.cudnnCreate(NULL), NULL_POINTER);
}
static void destroyed_descriptor(void)
{
    rig r = plain_rig();
    dnn.cudnnDestroyTensorDescriptor(r.v.y);
    each_pass(&r, BAD_PARAM);
}
static void destroyed_twice(void)
{
    rig r = plain_rig();
    assert_int_equal(dnn.cudnnDestroyFilterDescriptor(r.v.w), 0);
    assert_int_equal(dnn.cudnnDestroyFilterDescriptor(r.v.w), BAD_PARAM);
}
static void another_kind(void)
{
    rig r = plain_rig();
    r.v.w = r.v.convolution;
    each_pass(&r, BAD_PARAM);
}
static void wrong_shapes(void)
{
    rig r = plain_rig();
    int n;
    size_t bytes;
    tutti_cudnn_algorithm found[8];
    const int wrong[][4] = {{3, 12, 9, 7}, {2, 13, 9, 7}, {2, 12, 8, 7}, {2, 12, 9, 8}};
    for (int i = 0; i < 4; i++) {
        const int *d = wrong[i];
        dnn.cudnnSetTensor4dDescriptorEx(r.v.y, 0, d[0], d[1], d[2], d[3], d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]);
        each_pass(&r, BAD_PARAM);
        for (int pass = 0; pass < 3; pass++) {
            assert_int_equal(conv_advice(&r.v, (conv_pass)pass, &n, found), BAD_PARAM);
            assert_int_equal(conv_workspace(&r.v, (conv_pass)pass, 1, &bytes), BAD_PARAM);
        }
    }
    assert_int_equal(dnn.cudnnSetTensor4dDescriptorEx(r.v.x, 0, 0, 1, 1, 1, 1, 1, 1, 1), BAD_PARAM);
    assert_int_equal(dnn.cudnnSetTensor4dDescriptorEx(r.v.x, 77, 1, 1, 1, 1, 1, 1, 1, 1), BAD_PARAM);
    assert_int_equal(dnn.cudnnSetTensor4dDescriptorEx(r.v.x, 0, 1, 1, 1, 1, -1, 1, 1, 1), UNSUPPORTED);
    assert_int_equal(dnn.cudnnSetConvolution2dDescriptor(r.v.convolution, 0, 0, 0, 1, 1, 1, 1, 0), BAD_PARAM);
    assert_int_equal(dnn.cudnnSetConvolutionGroupCount(r.v.convolution, 0), BAD_PARAM);
}
static void odd_channels_of_16_bits(void)
{
    static const conv_shape odd[] = {{2, 12, 9, 7, 8, 3, 1, 1, 1, BF16, false, 0},
                                     {2, 8, 9, 7, 12, 3, 1, 1, 1, F16, false, 0},
                                     {2, 16, 9, 7, 16, 3, 1, 1, 4, F16, false, 0}};
    for (int i = 0; i < 3; i++) {
        conv v = conv_new(&odd[i], TUTTI_CUDNN_TENSOR_OP_MATH);
        size_t bytes;
        for (int pass = 0; pass < 3; pass++)
            assert_int_equal(conv_workspace(&v, (conv_pass)pass, 1, &bytes), UNSUPPORTED);
    }
}
static void mixed_types(void)
{
    rig r = rig_of(&narrow, TUTTI_CUDNN_TENSOR_OP_MATH);
    assert_int_equal(dnn.cudnnSetFilter4dDescriptor(r.v.w, 0, 1, 8, 16, 3, 3), 0);
    assert_int_equal(conv_run(&r.v, FILTER, 1, &r.m), UNSUPPORTED);
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &r.m), BAD_PARAM);
    dnn.cudnnSetConvolution2dDescriptor(r.v.convolution, 1, 1, 1, 1, 1, 1, 1, TUTTI_CUDNN_DATA_HALF);
    dnn.cudnnSetFilter4dDescriptor(r.v.w, TUTTI_CUDNN_DATA_BFLOAT16, 1, 8, 16, 3, 3);
    each_pass(&r, UNSUPPORTED);
}
static void mixed_orders(void)
{
    rig r = plain_rig();
    assert_int_equal(dnn.cudnnSetFilter4dDescriptor(r.v.w, 0, 0, 12, 8, 3, 3), 0);
    each_pass(&r, UNSUPPORTED);
    rig x = plain_rig(), y = plain_rig();
    assert_int_equal(dnn.cudnnSetTensor4dDescriptorEx(x.v.x, 0, 2, 8, 9, 7, 504, 63, 7, 1), 0);
    each_pass(&x, UNSUPPORTED);
    assert_int_equal(dnn.cudnnSetTensor4dDescriptorEx(y.v.y, 0, 2, 12, 9, 7, 756, 63, 7, 1), 0);
    each_pass(&y, UNSUPPORTED);
}
static void algorithm_that_is_not_there(void)
{
    rig r = plain_rig();
    size_t bytes;
    for (int pass = 0; pass < 3; pass++) {
        assert_int_equal(conv_workspace(&r.v, (conv_pass)pass, 4, &bytes), UNSUPPORTED);
        assert_int_equal(conv_run(&r.v, (conv_pass)pass, 4, &r.m), UNSUPPORTED);
    }
}
static void algorithm_of_another_convolution(void)
{
    rig r = plain_rig();
    assert_int_equal(conv_run(&r.v, FORWARD, 0, &r.m), UNSUPPORTED); /* nobody asked for 0 */
}
static void math_is_changed_later(void)
{
    rig r = plain_rig();
    assert_int_equal(dnn.cudnnSetConvolutionMathType(r.v.convolution, TUTTI_CUDNN_TENSOR_OP_MATH), 0);
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &r.m), UNSUPPORTED);
}
static void math_is_set_as_advised(void)
{
    rig r = plain_rig();
    tutti_cudnn_algorithm found[8];
    int n, at = 0;
    const conv v = conv_new(&plain, TUTTI_CUDNN_FMA_MATH);
    assert_int_equal(conv_advice(&v, FORWARD, &n, found), 0);
    while (found[at].algorithm != 1 || found[at].math != TUTTI_CUDNN_TENSOR_OP_MATH) at++;
    r.m.workspace_bytes = found[at].workspace_bytes;
    r.m.workspace = room_of(r.m.workspace_bytes);
    assert_int_equal(dnn.cudnnSetConvolutionMathType(v.convolution, TUTTI_CUDNN_TENSOR_OP_MATH), 0);
    assert_int_equal(conv_run(&v, FORWARD, 1, &r.m), 0);
}
static void small_workspace(void)
{
    rig r = plain_rig();
    size_t bytes;
    conv_workspace(&r.v, FILTER, 1, &bytes);
    r.m.workspace_bytes = bytes - 1;
    assert_int_equal(conv_run(&r.v, FILTER, 1, &r.m), TOO_SMALL);
    r.m.workspace_bytes = bytes;
    assert_int_equal(conv_run(&r.v, FILTER, 1, &r.m), 0);
}
static void no_workspace(void)
{
    rig r = plain_rig();
    r.m.workspace = NULL;
    assert_int_equal(conv_run(&r.v, DATA, 1, &r.m), NULL_POINTER);
}
static void misaligned(void)
{
    rig r = plain_rig();
    r.m.x = (char *)r.m.x + 4;
    each_pass(&r, MISALIGNED);
}
static void misaligned_workspace(void)
{
    rig r = plain_rig();
    r.m.workspace = (char *)r.m.workspace + 8;
    each_pass(&r, MISALIGNED);
}
static void overlapping(void)
{
    rig r = plain_rig();
    r.m.y = r.m.x;
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &r.m), BAD_PARAM);
}
static void workspace_in_an_operand(void)
{
    rig r = plain_rig();
    r.m.workspace = (char *)r.m.x + 64;
    assert_int_equal(conv_run(&r.v, FILTER, 1, &r.m), BAD_PARAM);
}
static void memory_that_is_too_small(void)
{
    rig r = plain_rig();
    r.m.x = room_of(64);
    assert_int_equal(conv_run(&r.v, DATA, 1, &r.m), 0); /* the call cannot know */
    card.cuStreamSynchronize(card.stream);
}
static void input_that_nobody_wrote(void)
{
    rig r = plain_rig();
    r.m.x = room_of(4096 * 4);
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &r.m), 0);
    card.cuStreamSynchronize(card.stream);
}
static void workspace_is_spoilt(void)
{
    rig r = plain_rig();
    uint32_t first = 0;
    card.cuMemsetD8Async((uint64_t)(uintptr_t)r.m.workspace, 0, r.m.workspace_bytes, card.stream);
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &r.m), 0);
    card_get(&card, &first, (uint64_t)(uintptr_t)r.m.workspace, sizeof first);
    assert_int_equal(first, 0xffffffff);
}

static void refusals_of_convolutions(void **state)
{
    (void)state;
    must_say(all_is_well, NULL);
    must_say(null_pointers, NULL);
    must_say(wrong_shapes, NULL);
    must_say(odd_channels_of_16_bits, NULL);
    must_say(mixed_types, NULL);
    must_say(mixed_orders, NULL);
    must_say(algorithm_that_is_not_there, NULL);
    must_say(math_is_set_as_advised, NULL);
    must_say(workspace_is_spoilt, NULL);
}

static void reports_of_convolutions(void **state)
{
    (void)state;
    must_say(destroyed_descriptor, "fake cudnn: cudnnConvolutionForward: the tensor descriptor 0x");
    must_say(destroyed_twice, "fake cudnn: cudnnDestroyFilterDescriptor: the filter descriptor 0x");
    must_say(another_kind, "is a convolution descriptor, not a filter descriptor");
    must_say(algorithm_of_another_convolution, "nobody has asked for algorithm 0");
    must_say(math_is_changed_later, "nobody has asked for algorithm 1");
    must_say(small_workspace, "fake cudnn: cudnnConvolutionBackwardFilter: a workspace of ");
    must_say(no_workspace, "a workspace of 0 bytes");
    must_say(misaligned, "x at 0x");
    must_say(misaligned_workspace, "the workspace at 0x");
    must_say(overlapping, "x and y overlap");
    must_say(workspace_in_an_operand, "x and the workspace overlap");
    must_say(memory_that_is_too_small, "fake cuda: a library's access");
    must_say(input_that_nobody_wrote, "fake cuda: a library's access");
}

/* ---- the end, and failures on demand ---- */

static void nothing_is_left(void)
{
    libraries_close();
}
static void an_end_before_the_context_is_released(void)
{
    conv_new(&plain, TUTTI_CUDNN_FMA_MATH);
}
static void descriptors_are_left(void)
{
    conv v = conv_new(&plain, TUTTI_CUDNN_FMA_MATH);
    dnn.cudnnDestroyTensorDescriptor(v.y);
    libraries_close();
}
static void a_handle_is_left(void)
{
    assert_int_equal(lt.cublasLtDestroy(lt_handle), 0);
    card_close(&card);
}
static void no_context(void)
{
    void *handle;
    assert_int_equal(card.cuCtxSetCurrent(NULL), 0);
    assert_int_equal(dnn.cudnnCreate(&handle), 1001);
}
static void failures_on_demand(void)
{
    rig r = plain_rig();
    setenv("TUTTI_FAKE_CUDA_FAIL", "cudnnConvolutionForward:2,cudnnConvolutionBackwardData:1:3000", 1);
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &r.m), 0);
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &r.m), FAILED);
    assert_int_equal(conv_run(&r.v, FORWARD, 1, &r.m), 0);
    assert_int_equal(conv_run(&r.v, DATA, 1, &r.m), UNSUPPORTED);
    assert_int_equal(conv_run(&r.v, DATA, 1, &r.m), 0);
}

static void what_is_left_is_reported_at_the_end(void **state)
{
    (void)state;
    must_say(nothing_is_left, NULL);
    must_say(an_end_before_the_context_is_released, NULL);
    must_say(descriptors_are_left, "fake cudnn: leak: 1 tensor descriptors");
    must_say(a_handle_is_left, "fake cudnn: leak: 1 handles");
}

static void a_handle_needs_a_context(void **state)
{
    (void)state;
    must_say(no_context, NULL);
}

static void calls_fail_on_demand(void **state)
{
    (void)state;
    must_say(failures_on_demand, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_of_convolutions),
        cmocka_unit_test(reports_of_convolutions),
        cmocka_unit_test(what_is_left_is_reported_at_the_end),
        cmocka_unit_test(a_handle_needs_a_context),
        cmocka_unit_test(calls_fail_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
