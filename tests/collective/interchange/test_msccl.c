/* SPDX-License-Identifier: Apache-2.0 */
/* test_msccl.c: MSCCL XML in and out: programs made by tests/oracle/msccl_golden.py, and every schedule of the table
 * there and back again. */
#include "testing.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "collective/compile/algorithms.h"
#include "collective/interchange/draw.h"
#include "collective/interchange/msccl.h"
#include "collective/interpret/interpret.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static tutti_msccl *read_text(const char *name, const char *text)
{
    tutti_failure err = {0};
    tutti_msccl *m = NULL;
    assert_true(tutti_msccl_is(text, strlen(text)));
    if (tutti_msccl_read(name, text, strlen(text), 0, &m, &err) != TUTTI_OK) fail_msg("%s", err.text);
    return m;
}

static char *read_file(const char *path)
{
    tutti_failure err = {0};
    char *text = NULL;
    size_t n = 0;
    if (tutti_file_read(path, 1 << 20, TUTTI_ERR_USAGE, &text, &n, &err) != TUTTI_OK) fail_msg("%s", err.text);
    return text;
}

/* Right where connections hold two messages, as a program and as a schedule of ours. */
static void must_hold(const char *name, const char *text)
{
    tutti_failure err = {0};
    tutti_msccl *m = read_text(name, text);
    if (tutti_msccl_check(m, 2, NULL, &err) != TUTTI_OK) fail_msg("%s: %s", name, err.text);
    if (tutti_msccl_check(m, 8, NULL, &err) != TUTTI_OK) fail_msg("%s: %s", name, err.text);
    tutti_msccl_destroy(m);
}

static void programs_made_from_the_published_schema_are_right(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(TUTTI_SOURCE_DIR "/tests/golden/msccl/*.xml", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 6);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *text = read_file(files.gl_pathv[i]);
        must_hold(files.gl_pathv[i], text);
        free(text);
    }
    globfree(&files);
}

/* Programs that need no buffers at all also run in the interpreter, which has none. */
static void what_needs_no_room_runs_right(void **state)
{
    (void)state;
    static const char *const names[] = {"all_to_all_3", "broadcast_3", "bruck_5"};
    for (int i = 0; i < 3; i++) {
        char path[300];
        tutti_failure err = {0};
        tutti_verdict v;
        snprintf(path, sizeof path, "%s/tests/golden/msccl/%s.xml", TUTTI_SOURCE_DIR, names[i]);
        char *text = read_file(path);
        tutti_msccl *m = read_text(path, text);
        if (tutti_msccl_check(m, 0, NULL, &err) != TUTTI_OK) fail_msg("%s", err.text);
        tutti_schedule_interpret(tutti_msccl_schedule(m), 47, 1, 100, &v);
        if (v.wrong) fail_msg("%s: %s", path, v.text);
        tutti_msccl_destroy(m);
        free(text);
    }
}

static void a_fused_ring_needs_room_for_a_message(void **state)
{
    (void)state;
    tutti_failure err = {0};
    char *text = read_file(TUTTI_SOURCE_DIR "/tests/golden/msccl/ring_fused_4.xml");
    tutti_msccl *m = read_text("ring", text);
    assert_int_equal(tutti_msccl_check(m, 0, NULL, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "deadlock: gpu 0 tb 0 step 0 (s o[0] to gpu 1"));
    assert_int_equal(tutti_msccl_check(m, 1, NULL, NULL), TUTTI_OK);
    tutti_msccl_destroy(m);
    free(text);
}

static void every_wrong_program_is_refused_with_the_promised_words(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(TUTTI_SOURCE_DIR "/tests/must_fail/msccl_*.xml", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 9);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char promised[200], *text = read_file(files.gl_pathv[i]);
        tutti_failure err = {0};
        assert_int_equal(sscanf(text, "<!-- must fail: %199[^\n]", promised), 1);
        char *end = strstr(promised, " -->");
        assert_non_null(end);
        *end = '\0';
        if (strstr(promised, "connections"))
            snprintf(promised, sizeof promised, "deadlock"); /* the rest is what the command adds */
        tutti_msccl *m = read_text(files.gl_pathv[i], text);
        assert_int_equal(tutti_msccl_check(m, tutti_msccl_room(m), NULL, &err), TUTTI_ERR_FAILED);
        if (!strstr(err.text, promised)) fail_msg("%s: expected '%s' in: %s", files.gl_pathv[i], promised, err.text);
        tutti_msccl_destroy(m);
        free(text);
    }
    globfree(&files);
}

static void malformed_files_are_refused_with_their_line(void **state)
{
    (void)state;
#define ALGO "<algo name=\"a\" proto=\"Simple\" nchannels=\"1\" ngpus=\"2\" coll=\"allreduce\" nchunksperloop=\"2\">\n"
#define GPU  "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\">\n"
#define TB   "<tb id=\"0\" send=\"1\" recv=\"1\" chan=\"0\">\n"
#define STEP(type, src, cnt, depid, deps)                                                                              \
    "<step s=\"0\" type=\"" type "\" srcbuf=\"i\" srcoff=\"" src "\" dstbuf=\"o\" dstoff=\"0\" cnt=\"" cnt             \
    "\" depid=\"" depid "\" deps=\"" deps "\" hasdep=\"0\"/>\n"
    static const char *const cases[][2] = {
        {"<algo", "no XML"},
        {"<schedule/>", "line 1: <schedule> where <algo> is wanted"},
        {"<!DOCTYPE algo [<!ENTITY a \"b\">]><algo/>", "document type"},
        {"<algo coll=\"custom\"/>", "says nothing of what must come out"},
        {"<algo coll=\"allreduce\" ngpus=\"two\" nchunksperloop=\"1\"/>", "ngpus=\"two\": a number from 1"},
        {"<algo coll=\"allgather\" ngpus=\"3\" nchunksperloop=\"4\"/>", "not a multiple of ngpus"},
        {ALGO "</algo>", "0 of 2 GPUs are there"},
        {ALGO "<gpu id=\"0\" i_chunks=\"3\"/></algo>", "line 2: i_chunks=\"3\", but nchunksperloop asks for 2"},
        {ALGO GPU "</gpu>" GPU "</gpu></algo>", "gpu 0 is given twice"},
        {ALGO GPU TB "</tb>" TB "</tb></gpu></algo>", "tb 0 where 1 is the next"},
        {ALGO GPU TB STEP("s", "2", "1", "-1", "-1") "</tb></gpu></algo>",
         "line 4: i[2] to [2] lies outside of the 2 chunks"},
        {ALGO GPU TB STEP("ra", "0", "1", "-1", "-1") "</tb></gpu></algo>", "adds memory from outside"},
        {ALGO GPU TB STEP("s", "0", "1", "0", "0") "</tb></gpu><gpu id=\"1\"/></algo>", "line 4: it waits for step 0"},
        {ALGO GPU TB STEP("s", "0", "1", "3", "0") "</tb></gpu><gpu id=\"1\"/></algo>", "which is not there"},
    };
#undef ALGO
#undef GPU
#undef TB
#undef STEP
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_failure err = {0};
        tutti_msccl *m = NULL;
        assert_int_equal(tutti_msccl_read("f.xml", cases[i][0], strlen(cases[i][0]), 0, &m, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, cases[i][1])) fail_msg("expected '%s' in: %s", cases[i][1], err.text);
    }
}

/* ---- there and back ---- */

/* As text and as XML again it holds what its connections held, and is as right as it was. */
static void must_keep_its_room(const char *name, const char *xml, int32_t room, tutti_status verdict)
{
    tutti_failure err = {0};
    tutti_schedule *s = NULL;
    char *text, *back = NULL;
    tutti_msccl *m = read_text(name, xml), *again;
    assert_int_equal(tutti_msccl_room(m), room);
    text = tutti_schedule_print(tutti_msccl_schedule(m));
    if (tutti_schedule_parse(name, text, strlen(text), &s, &err) != TUTTI_OK) fail_msg("%s", err.text);
    assert_int_equal(tutti_schedule_head(s)->room, room);
    if (tutti_schedule_check(s, NULL, &err) != verdict) fail_msg("%s: %s", name, err.text);
    if (tutti_msccl_export(s, &back, &err) != TUTTI_OK) fail_msg("%s", err.text);
    again = read_text(name, back);
    assert_int_equal(tutti_msccl_room(again), room);
    if (tutti_msccl_check(again, room, NULL, &err) != verdict) fail_msg("%s: %s", name, err.text);
    tutti_msccl_destroy(again);
    tutti_msccl_destroy(m);
    tutti_schedule_destroy(s);
    free(text), free(back);
}

static void as_text_a_program_keeps_what_its_connections_hold(void **state)
{
    (void)state;
    static const char *const wrong[] = {"three_ahead", "nine_ahead", "receives_first"};
    static const bool is_right_over_ll[] = {true, false, false};
    glob_t files;
    assert_int_equal(glob(TUTTI_SOURCE_DIR "/tests/golden/msccl/*.xml", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc + 3; i++) {
        char path[300];
        const bool right = i < files.gl_pathc;
        snprintf(path, sizeof path, "%s/tests/must_fail/msccl_%s.xml", TUTTI_SOURCE_DIR,
                 right ? "" : wrong[i - files.gl_pathc]);
        char *xml = read_file(right ? files.gl_pathv[i] : path), *at = strstr(xml, "proto=\"Simple\"");
        if (at) {
            must_keep_its_room(path, xml, 2, right ? TUTTI_OK : TUTTI_ERR_FAILED);
            memcpy(at, "proto=\"LL\"    ", strlen("proto=\"Simple\""));
        }
        must_keep_its_room(path, xml, 8, right || is_right_over_ll[i - files.gl_pathc] ? TUTTI_OK : TUTTI_ERR_FAILED);
        free(xml);
    }
    globfree(&files);
}

typedef struct {
    int nthere, nrefused;
} tally;

static void there_and_back(const tutti_algorithm *a, const tutti_compile_request *q, tally *t)
{
    tutti_schedule *s = NULL;
    char *xml = NULL;
    tutti_failure err = {0};
    if (tutti_schedule_compile(a->name, q, &s, NULL) != TUTTI_OK) return;
    if (tutti_msccl_export(s, &xml, &err) == TUTTI_OK) {
        tutti_msccl *m = read_text(a->name, xml);
        const tutti_schedule_header *h = tutti_schedule_head(tutti_msccl_schedule(m));
        assert_int_equal(h->collective, q->collective);
        assert_int_equal(h->nranks, q->nranks);
        assert_int_equal(h->in_place, q->in_place);
        /* a schedule that is right at capacity 0 stays so: one postcondition, one proof */
        if (tutti_msccl_check(m, 0, NULL, &err) != TUTTI_OK) fail_msg("%s", err.text);
        tutti_msccl_destroy(m);
        free(xml);
        t->nthere++;
    } else {
        assert_int_equal(err.status, TUTTI_ERR_USAGE);
        assert_non_null(strstr(err.text, "no MSCCL XML: "));
        t->nrefused++;
    }
    tutti_schedule_destroy(s);
}

static void what_is_exported_and_imported_proves_the_same(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16};
    tally t = {0};
    for (int i = 0; i < tutti_algorithm_count(); i++)
        for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
            for (size_t k = 0; k < 2 * sizeof counts / sizeof counts[0]; k++) {
                const tutti_compile_request q = {
                    .collective = (tutti_collective)c, .nranks = counts[k / 2], .in_place = k % 2};
                there_and_back(tutti_algorithm_at(i), &q, &t);
            }
    assert_true(t.nthere > 300);
    printf("%d schedules went there and back, %d cannot be exported\n", t.nthere, t.nrefused);
}

static void what_cannot_be_exported_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        tutti_compile_request q;
        bool lower;
        const char *why;
    } cases[] = {
        {"direct", {.collective = TUTTI_GATHER, .nranks = 2}, false, "no gather"},
        {"direct", {.nranks = 4, .slots = 8}, false, "canonical sums"},
        {"direct", {.nranks = 4}, true, "export the two-sided form"},
        {"direct", {.collective = TUTTI_BROADCAST, .nranks = 4, .root = 1}, false, "cannot name a root"},
        {"ring", {.nranks = 200}, false, "steps in a thread block, at most 256 fit"},
        {"direct", {.nranks = 120}, false, "no MSCCL XML: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_schedule *s = NULL, *lowered = NULL;
        tutti_failure err = {0};
        char *xml = NULL;
        assert_int_equal(tutti_schedule_compile(cases[i].algorithm, &cases[i].q, &s, NULL), TUTTI_OK);
        if (cases[i].lower) assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_MAPPED, &lowered, NULL), TUTTI_OK);
        assert_int_equal(tutti_msccl_export(lowered ? lowered : s, &xml, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].why)) fail_msg("expected '%s' in: %s", cases[i].why, err.text);
        tutti_schedule_destroy(lowered);
        tutti_schedule_destroy(s);
    }
}

static void who_is_told_nothing_is_named_unless_his_reader_tells_all_the_same(void **state)
{
    (void)state;
    tutti_failure err = {0};
    tutti_strbuf out = {0};
    char *text = read_file(TUTTI_SOURCE_DIR "/tests/must_fail/msccl_untold.xml");
    tutti_msccl *m = read_text("untold", text);
    assert_int_equal(tutti_msccl_check(m, 2, NULL, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "gpu 0 tb 0 step 0 (line 5) waits for tb 1 step 1"));
    assert_non_null(strstr(err.text, "wait there for ever (24 such waits)"));
    assert_int_equal(tutti_msccl_allow(m, "deadlocks", &err), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_msccl_allow(m, "hasdep", &err), TUTTI_OK);
    assert_int_equal(tutti_msccl_check(m, 2, NULL, &err), TUTTI_OK);
    tutti_msccl_remarks(m, &out);
    assert_non_null(strstr(out.text, "which was allowed (24 times, first gpu 0 tb 0 step 0, line 5)"));
    tutti_strbuf_release(&out);
    tutti_msccl_destroy(m);
    /* a later step of the block that is waited for tells: the wait ends, but later than what was proved */
    char *step = strstr(text, "type=\"r\""), *silent = strstr(step, "hasdep=\"0\"/>");
    tutti_strbuf more = {0};
    tutti_strbuf_add(&more, text, (size_t)(silent - text));
    tutti_strbuf_puts(&more, "hasdep=\"0\"/>\n<step s=\"2\" type=\"nop\" depid=\"-1\" deps=\"-1\" hasdep=\"1\"/>");
    tutti_strbuf_puts(&more, silent + strlen("hasdep=\"0\"/>"));
    m = read_text("told later", more.text);
    assert_int_equal(tutti_msccl_check(m, 2, NULL, &err), TUTTI_ERR_FAILED);
    assert_non_null(strstr(err.text, "until a later step tells"));
    tutti_msccl_destroy(m);
    tutti_strbuf_release(&more);
    free(text);
}

static void remarks_name_what_the_proof_does_not_say(void **state)
{
    (void)state;
    static const char *const words[] = {"which file: hash ", "operand: ", "(2 times, first gpu 0 tb 0 step 1, line 6)",
                                        "attributes: no minBytes", "multiple of 1"};
    tutti_strbuf out = {0};
    char *text = read_file(TUTTI_SOURCE_DIR "/tests/must_fail/msccl_operand.xml");
    tutti_msccl *m = read_text("operand", text);
    tutti_msccl_remarks(m, &out);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strstr(out.text, words[i])) fail_msg("expected '%s' in: %s", words[i], out.text);
    tutti_strbuf_release(&out);
    tutti_msccl_destroy(m);
    free(text);
}

static void a_picture_has_an_arrow_a_message_and_a_dot_a_sum(void **state)
{
    (void)state;
    tutti_schedule *s = NULL;
    tutti_strbuf out = {0};
    int arrows = 0, dots = 0;
    const tutti_compile_request q = {.nranks = 4}, large = {.nranks = TUTTI_DRAW_MOST_RANKS + 1};
    assert_int_equal(tutti_schedule_compile("ring", &q, &s, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_draw(s, &out, NULL), TUTTI_OK);
    for (const char *at = out.text; (at = strstr(at, "stroke-width=\"1.8\"")); at++) arrows++;
    for (const char *at = out.text; (at = strstr(at, "<circle")); at++) dots++;
    assert_int_equal(arrows, 4 * 6);
    assert_int_equal(dots, 4 * 3);
    tutti_strbuf_release(&out);
    tutti_schedule_destroy(s);
    assert_int_equal(tutti_schedule_compile("ring", &large, &s, NULL), TUTTI_OK);
    assert_int_equal(tutti_schedule_draw(s, &out, NULL), TUTTI_ERR_USAGE);
    tutti_schedule_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_made_from_the_published_schema_are_right),
        cmocka_unit_test(what_needs_no_room_runs_right),
        cmocka_unit_test(a_fused_ring_needs_room_for_a_message),
        cmocka_unit_test(every_wrong_program_is_refused_with_the_promised_words),
        cmocka_unit_test(malformed_files_are_refused_with_their_line),
        cmocka_unit_test(as_text_a_program_keeps_what_its_connections_hold),
        cmocka_unit_test(what_is_exported_and_imported_proves_the_same),
        cmocka_unit_test(what_cannot_be_exported_is_refused_with_the_reason),
        cmocka_unit_test(who_is_told_nothing_is_named_unless_his_reader_tells_all_the_same),
        cmocka_unit_test(remarks_name_what_the_proof_does_not_say),
        cmocka_unit_test(a_picture_has_an_arrow_a_message_and_a_dot_a_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
