/* SPDX-License-Identifier: Apache-2.0 */
/* test_safetensors.c: the format's published example byte for byte; what the format forbids is refused. */
#include "testing.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "training/run/keep/checkpoint.h"

static float one_two[] = {1, 2}, three[] = {3, 4, 5};

static void one_tensor_has_the_bytes_of_the_formats_own_writer(void **state)
{
    (void)state;
    const tutti_tensor_ref a = {.name = "a", .shape = {.ndims = 1, .dim = {2}}, .data = one_two};
    char *bytes;
    size_t n;
    tutti_safetensors_write(&a, 1, NULL, &bytes, &n);
    assert_int_equal(n, 72);
    assert_memory_equal(bytes,
                        "\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}  "
                        "\0\0\x80\x3f\0\0\0\x40",
                        72);
    free(bytes);
}

static void tensors_read_back_by_name(void **state)
{
    (void)state;
    const tutti_tensor_ref two[] = {{"z.weight", {.ndims = 2, .dim = {1, 3}}, three, NULL},
                                    {"a \"quoted\" name", {.ndims = 1, .dim = {2}}, one_two, NULL},
                                    {"empty", {.ndims = 1, .dim = {0}}, NULL, NULL},
                                    {"scalar", {.ndims = 0}, one_two, NULL}};
    char *bytes;
    size_t n;
    tutti_safetensors *st;
    tutti_failure err = {0};
    tutti_safetensors_write(two, 4, (const char *const[]){"format", "pt", NULL}, &bytes, &n);
    assert_int_equal(tutti_safetensors_parse("two", bytes, n, &st, &err), TUTTI_OK);
    assert_int_equal(tutti_safetensors_count(st), 4);
    for (int i = 0; i < 4; i++) {
        const tutti_tensor_ref *t = tutti_safetensors_find(st, two[i].name);
        assert_non_null(t);
        assert_true(tutti_shape_equal(&t->shape, &two[i].shape));
        if (two[i].data) assert_memory_equal(t->data, two[i].data, 4 * (size_t)tutti_shape_count(&t->shape));
    }
    assert_null(tutti_safetensors_find(st, "b"));
    tutti_safetensors_destroy(st);

    for (size_t length = 0; length < n; length++) { /* a truncated file is refused wherever it ends */
        char *part = malloc(length + 1);
        memcpy(part, bytes, length);
        assert_int_equal(tutti_safetensors_parse("part", part, length, &st, &err), TUTTI_ERR_DATA);
        free(part);
    }
    free(bytes);
}

/* A file of this header and so many bytes of data. */
static tutti_status parse(const char *header, size_t data, tutti_failure *err)
{
    const size_t length = strlen(header), total = 8 + length + data;
    const uint64_t prefix = htole64(length);
    char *bytes = calloc(total, 1);
    tutti_safetensors *st = NULL;
    memcpy(bytes, &prefix, 8);
    memcpy(bytes + 8, header, length);
    const tutti_status status = tutti_safetensors_parse("file", bytes, total, &st, err);
    tutti_safetensors_destroy(st);
    free(bytes);
    return status;
}

#define TENSOR(name, shape, range) "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" range "}"

static void what_the_format_forbids_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *words;
        size_t data;
    } bad[] = {
        {"{" TENSOR("a", "[2]", "[0,8]") "," TENSOR("b", "[1]", "[12,16]") "}", "hole", 16},
        {"{" TENSOR("a", "[2]", "[0,8]") "," TENSOR("b", "[1]", "[4,8]") "}", "inside its neighbour", 8},
        {"{" TENSOR("a", "[2]", "[4,12]") "}", "hole", 12},
        {"{" TENSOR("a", "[2]", "[0,8]") "}", "the file has 9", 9},
        {"{" TENSOR("a", "[2]", "[0,8]") "}", "the file has 4", 4},
        {"{" TENSOR("a", "[3]", "[0,8]") "}", "its shape has 3 numbers", 8},
        {"{" TENSOR("a", "[1]", "[0,4]") "," TENSOR("a", "[1]", "[4,8]") "}", "there twice", 8},
        {"{" TENSOR("a", "[4294967296,4294967296]", "[0,0]") "}", "too large", 0},
        {"{" TENSOR("a", "[-1]", "[0,4]") "}", "not a count", 4},
        {"{" TENSOR("a", "[1.5]", "[0,4]") "}", "not a count", 4},
        {"{" TENSOR("a", "[1,1,1,1,1]", "[0,4]") "}", "at most 4", 4},
        {"{" TENSOR("a", "[0]", "[4,0]") "}", "[begin, end]", 4},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", "dtype F16", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}}", "unknown", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "there twice", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "must be there", 4},
        {"{\"a\":7}", "must be there", 4},
        {"{\"__metadata__\":{\"n\":1}," TENSOR("a", "[1]", "[0,4]") "}", "texts to texts", 4},
        {"[1]", "begin with '{'", 0},
        {" {}", "begin with '{'", 0},
        {"{}x", "not a JSON object", 0},
        {"{" TENSOR("fc2.weight\\u0000", "[1]", "[0,4]") "}", "a NUL stands in it", 4},
        {"{" TENSOR("\\u0000a", "[1]", "[0,4]") "}", "a NUL stands in it", 4},
        {"{\"a\":{\"dtype\":\"F32\\u0000 \",\"shape\":[1],\"data_offsets\":[0,4]}}", "a NUL stands in it", 4},
        {"{", "not a JSON object", 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tutti_failure err = {0};
        assert_int_equal(parse(bad[i].header, bad[i].data, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, bad[i].words)) fail_msg("%s: says '%s', not '%s'", bad[i].header, err.text, bad[i].words);
    }
    tutti_failure err = {0};
    assert_int_equal(parse("{" TENSOR("b", "[1]", "[8,12]") "," TENSOR("a", "[2]", "[0,8]") "}   ", 12, &err),
                     TUTTI_OK);
}

static void a_header_longer_than_the_file_is_refused_before_it_is_read(void **state)
{
    (void)state;
    char bytes[16];
    memset(bytes, 0xff, sizeof bytes);
    tutti_failure err = {0};
    tutti_safetensors *st;
    assert_int_equal(tutti_safetensors_parse("huge", bytes, sizeof bytes, &st, &err), TUTTI_ERR_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tensor_has_the_bytes_of_the_formats_own_writer),
        cmocka_unit_test(tensors_read_back_by_name),
        cmocka_unit_test(what_the_format_forbids_is_refused),
        cmocka_unit_test(a_header_longer_than_the_file_is_refused_before_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
