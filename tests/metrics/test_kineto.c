/* SPDX-License-Identifier: Apache-2.0 */
/* test_kineto.c: spans of PyTorch's profiler become layers as trace.h says: a trace written by hand, whose sums are
 * exact, and what is refused. What torch writes itself: tests/golden/kineto. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "metrics/trace.h"

#define SPAN(cat, name, ts, dur, args)                                                                                 \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur         \
    ",\"args\":{" args "}},"
#define MODULE(name, ts, dur)        SPAN("python_function", "nn.Module: " name, ts, dur, "")
#define OPERATOR(name, seq, ts, dur) SPAN("cpu_op", name, ts, dur, "\"Sequence number\":" #seq ",\"Fwd thread id\":0")
#define BACKWARD(seq, ts, dur)                                                                                         \
    SPAN("cpu_op", "autograd::engine::evaluate_function: X0", ts, dur,                                                 \
         "\"Sequence number\":" #seq ",\"Fwd thread id\":1")
#define SHAPED(name, seq, ts, dur, dims, types)                                                                        \
    SPAN("cpu_op", name, ts, dur,                                                                                      \
         "\"Sequence number\":" #seq ",\"Fwd thread id\":0,\"Input Dims\":" dims ",\"Input type\":" types)
#define TRACE(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "{\"ph\":\"M\",\"name\":\"process_name\"}]}"
#define FLOATS        "[\"float\",\"float\",\"float\"]"

/* A step: Net_0 runs a convolution with bias, a ReLU of its own, a linear layer; the loss is outside. Gradients of
 * nodes that were not recorded (99) are nobody's. */
static const char one_step[] = TRACE(
    MODULE("Net_0", 10, 200) MODULE("Conv2d_0", 20, 100)
        SHAPED("aten::conv2d", 7, 30, 80, "[[8,3,32,32],[16,3,5,5],[16]]", FLOATS)
            OPERATOR("aten::convolution", 7, 31, 70) OPERATOR("aten::relu", 8, 125, 10) MODULE("Linear_0", 140, 50)
                OPERATOR("aten::detach", 9, 141, 1) SHAPED("aten::linear", 9, 145, 40, "[[8,16],[10,16],[10]]", FLOATS)
                    OPERATOR("aten::nll_loss", 10, 215, 6) BACKWARD(10, 300, 7) BACKWARD(9, 310, 30) BACKWARD(8, 350, 5)
                        BACKWARD(7, 360, 40) BACKWARD(99, 410, 1000));

static void read_trace(const char *text, tutti_layer_trace *out)
{
    tutti_failure err = {0};
    if (tutti_kineto_parse("k", text, strlen(text), out, &err)) fail_msg("%s", err.text);
}

static void check_layer(const tutti_layer_cost *l, const char *name, double forward_us, double backward_us,
                        int64_t bytes)
{
    assert_string_equal(l->name, name);
    assert_true(l->forward_us == forward_us && l->backward_us == backward_us);
    assert_int_equal(l->size_bytes, bytes);
}

static void modules_become_layers(void **state)
{
    (void)state;
    tutti_layer_trace t;
    read_trace(one_step, &t);
    assert_int_equal(t.nlayers, 4);
    check_layer(&t.layers[0], "Conv2d_0", 100, 40, (16 * 3 * 5 * 5 + 16) * 4);
    check_layer(&t.layers[1], "Net_0", 200 - 100 - 50, 5, 0); /* its own ReLU */
    check_layer(&t.layers[2], "Linear_0", 50, 30, (10 * 16 + 10) * 4);
    check_layer(&t.layers[3], "outside", 6, 7, 0);
    tutti_layer_trace_release(&t);
}

static void steps_are_averaged_and_what_is_outside_of_them_left_out(void **state)
{
    (void)state;
    static const char text[] = TRACE(
        SPAN("user_annotation", "ProfilerStep#3", 1000, 400, "") SPAN("user_annotation", "ProfilerStep#4", 2000, 400,
                                                                      "") MODULE("Linear_0", 500, 50)
            SHAPED("aten::linear", 1, 510, 40, "[[8,16],[10,16],[]]", "[\"float\",\"float\",\"\"]") BACKWARD(1, 600, 77)
                MODULE("Linear_0", 1010, 50) SHAPED("aten::linear", 2, 1011, 40, "[[8,16],[10,16],[]]",
                                                    "[\"c10::BFloat16\",\"c10::BFloat16\",\"\"]") BACKWARD(2, 1100, 60)
                    MODULE("Linear_0", 2010, 70) SHAPED("aten::linear", 3, 2011, 40, "[[8,16],[10,16],[]]",
                                                        "[\"float\",\"float\",\"\"]") BACKWARD(3, 2100, 90));
    tutti_layer_trace t;
    read_trace(text, &t);
    assert_int_equal(t.nlayers, 1);
    check_layer(&t.layers[0], "Linear_0", 60, 75, 10 * 16 * 2); /* as the first call has it */
    tutti_layer_trace_release(&t);
}

/* Three steps of the network of tests/oracle/kineto_golden.py, as torch's profiler wrote them. */
static void what_torch_wrote_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t bytes;
    } is[] = {{"Conv2d_0", 2432}, {"ReLU_0", 0},    {"Conv2d_1", 2304},    {"BatchNorm2d_0", 64},
              {"Residual_0", 0},  {"Flatten_0", 0}, {"Embedding_0", 3200}, {"LayerNorm_0", 128},
              {"Tokens_0", 0},    {"Network_0", 0}, {"Linear_0", 63400},   {"outside", 0}};
    tutti_layer_trace t;
    tutti_failure err = {0};
    if (tutti_kineto_read(TUTTI_SOURCE_DIR "/tests/golden/kineto/small.json", &t, &err)) fail_msg("%s", err.text);
    assert_int_equal(t.nlayers, sizeof is / sizeof is[0]);
    for (int l = 0; l < t.nlayers; l++) {
        assert_string_equal(t.layers[l].name, is[l].name);
        assert_int_equal(t.layers[l].size_bytes, is[l].bytes);
        assert_true(t.layers[l].forward_us > 0 && t.layers[l].backward_us > 0 && t.layers[l].comm_us == 0);
    }
    tutti_layer_trace_release(&t);
}

static void what_is_no_such_trace_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } refused[] = {
        {"", "k: no JSON"},
        {"{\"traceEvents\":[", "k: no JSON"},
        {"{\"traceEvents\":[]} {\"traceEvents\":[]}", "k: no JSON, or something stands behind it"},
        {"{\"traceEvents\":[]}]", "k: no JSON, or something stands behind it"},
        {"{\"traceEvents\":[{\"name\":\"nn.Module: A\\u0000B\"}]}", "k: no JSON"},
        {"[1,2]", "k: no traceEvents in it"},
        {"{\"traceEvents\":4}", "k: no traceEvents in it"},
        {TRACE(""), "k: no span of a module in it: record with with_stack=True"},
        {TRACE(MODULE("Linear_0", 1, 2)), "k: no shapes in it"},
        {TRACE(MODULE("Linear_0", 1, 20) SHAPED("aten::linear", 1, 2, 4, "[[8,16],[10,16],[10]]", FLOATS)),
         "k: no backward pass in it"},
        {TRACE(MODULE("Linear_0", 1, 20) SHAPED("aten::linear", 1, 2, 4, "[[8,16],[10,-16],[10]]", FLOATS)),
         "k: aten::linear: the shapes of its parameters"},
        {TRACE(MODULE("Linear_0", 1, 20)
                   SHAPED("aten::linear", 1, 2, 4, "[[8,16],[10,16],[10]]", "[\"a\",\"b\",\"c\"]")),
         "k: aten::linear: the shapes of its parameters"},
        {TRACE(MODULE("LSTM_0", 1, 20) SHAPED("aten::lstm", 1, 2, 4, "[[8,16]]", FLOATS)), "k: aten::lstm: the shapes"},
        {TRACE(SPAN("kernel", "gemm", 1, 2, "")), "k: kernels of a GPU in it"},
        {TRACE("{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: A_0\"},"),
         "k: 'nn.Module: A_0' has no time"},
        {TRACE(MODULE("Lin ear", 1, 20) SHAPED("aten::linear", 1, 2, 4, "[[8,16],[10,16],[10]]", FLOATS)),
         "one without a plain name: 'Lin ear'"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tutti_layer_trace t;
        tutti_failure err = {0};
        assert_int_equal(tutti_kineto_parse("k", refused[i].text, strlen(refused[i].text), &t, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, refused[i].words)) fail_msg("'%s' instead of '%s'", err.text, refused[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_become_layers),
        cmocka_unit_test(steps_are_averaged_and_what_is_outside_of_them_left_out),
        cmocka_unit_test(what_torch_wrote_is_read),
        cmocka_unit_test(what_is_no_such_trace_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
