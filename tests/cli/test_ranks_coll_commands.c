/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_coll_commands.c: `tutti coll list` and `compile` as a user types them, and the example of
 * docs/schedule-format.md, which must be what the program prints. */
#include "testing.h"

#include <unistd.h>

#include "base/file.h"
#include "command_line.h"
#include "tutti/check.h"
#include "tutti/schedule.h"

static void list_shows_every_algorithm(void **state)
{
    (void)state;
    expect("coll list", 0, "\ndirect ");
    expect("coll list", 0, "\none-shot ");
    expect("coll list", 0, "\nring ");
    expect("coll list", 0, "\nhalving-doubling ");
    expect("coll list", 0, "\ndouble-tree ");
    expect("coll list", 0, " broadcast reduce ");
    expect("coll list ring", 2, "unexpected argument 'ring'");
}

static void verify_all_proves_the_table_at_given_rank_counts(void **state)
{
    (void)state;
    expect("coll verify-all --ranks 2,3", 0, "right for every vector length");
    expect("coll verify-all --ranks 4 --jobs 2", 0, "\nhalving-doubling ");
    expect("coll verify-all --ranks 2000", 2, "1024");
    expect("coll verify-all ring", 2, "unexpected argument 'ring'");
}

static void every_collective_is_compiled_checked_and_explained(void **state)
{
    (void)state;
    expect("coll compile binomial --ranks 3 --collective broadcast --root 2", 0,
           "\ncollective broadcast\nranks 3\nroot 2\n");
    expect("coll compile dissemination --ranks 2 --collective barrier --wire mapped", 0, "wait from 1 channel 0");
    expect("coll check k-nomial,radix=3 --ranks 7 --collective reduce --root 5", 0, "right for every vector length");
    expect("coll check direct --ranks 3 --collective all-to-all --in-place", 2, "not in place");
    expect("coll explain --bytes 1MB --ranks 6 --topology star --collective all-to-all", 0, "choice: ");
    expect("coll explain --ranges --json --bytes 1MiB --ranks 4 --topology star --collective all-to-all", 0,
           "\"last_bytes\":1048576");
    expect("coll explain --bytes 1MB --ranks 6 --topology star --collective barrier", 0, "\ndissemination,radix=2 ");
    expect("coll explain --bytes 1MB --ranks 6 --topology star --collective reduce-all", 2, "--collective");
    expect("coll compile ring --ranks 2 --collective broadcast", 2, "these do: direct, ");
}

static void engines_answer_side_by_side_or_say_why_not(void **state)
{
    (void)state;
#define ASK "coll explain --bytes 1MB --ranks 4 --topology star "
    expect(ASK "--engine closed-form,rounds,events", 0, "\nring                 ");
    expect(ASK "--engine all", 0, "simgrid-tcp");
    expect("coll explain --bytes 1MB --ranks 4 --topology dgx2 --engine closed-form", 0,
           "closed-form cannot: formulas are for a star");
    expect(ASK "--engine events --json", 0, "\"engine\":\"events\",\"can\":true");
    expect(ASK "--engine roundz", 2, "did you mean 'rounds'?");
    expect(ASK "--engine events --late 1=2.5", 0, "events");
    expect(ASK "--engine events --late 4=1", 2, "of a rank from 0 to 3");
    expect(ASK "--engine events --late 1=", 2, "RANK=MILLISECONDS");
    expect(ASK "--limit 5", 2, "need --engine");
    expect(ASK "--ranges --engine rounds", 2, "leave --engine out");
#undef ASK
    expect("coll convert ring --ranks 3 --to goal --bytes 1MB", 0, "num_ranks 3");
    expect("coll convert ring --ranks 3 --to goal", 2, "--bytes is missing");
    expect("coll convert ring --ranks 3 --to chakra --bytes 1MB", 2, "--out is missing");
    expect("coll convert ring --ranks 3 --to text --bytes 1MB", 2, "text is for any size");
    expect("coll convert ring --ranks 3 --to goal --bytes 1MB --wire mapped", 2, "loads, stores and signals");
}

/* The verdict is the first line; remarks and connections stand behind it. Names are as long as a schedule's may be. */
static void a_check_of_a_program_says_its_verdict_first(void **state)
{
    (void)state;
    static const char *const files[] = {"all_to_all_3.xml", "ring_fused_4.xml", "reduce_scatter_4.xml"};
    char line[200];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(line, sizeof line, "coll check " TUTTI_SOURCE_DIR "/tests/golden/msccl/%s", files[i]);
        char *text = command_says(line, 0, "right for every vector length");
        assert_true(strstr(text, "right for every vector length") < strchr(text, '\n'));
        assert_non_null(strstr(text, "\nconnections: "));
        free(text);
    }
    char *xml = NULL, path[] = "/tmp/tutti_named_XXXXXX";
    size_t nbytes = 0;
    assert_int_equal(tutti_file_read(TUTTI_SOURCE_DIR "/tests/golden/msccl/all_to_all_3.xml", 1 << 20, TUTTI_ERR_DATA,
                                     &xml, &nbytes, NULL),
                     TUTTI_OK);
    char *name = strstr(xml, "name=\""), *rest = strchr(name + 6, '"');
    const int fd = mkstemp(path);
    dprintf(fd, "%.*sname=\"a-name-of-45-letters-for-a-program-of-3-gpus-x%s", (int)(name - xml), xml, rest);
    close(fd);
    snprintf(line, sizeof line, "coll check %s", path);
    expect(line, 0, "a-name-of-45-letters-for-a-program-of-3-gpus-x all-to-all");
    unlink(path);
    free(xml);
}

static void programs_of_msccl_are_checked_and_converted(void **state)
{
    (void)state;
#define GOLDEN TUTTI_SOURCE_DIR "/tests/golden/msccl/"
#define WRONG  TUTTI_SOURCE_DIR "/tests/must_fail/msccl_"
    expect("coll check " GOLDEN "all_to_all_3.xml", 0, "right at any capacity");
    expect("coll check " GOLDEN "ring_fused_4.xml", 0,
           "right where they hold 2 messages (Simple) or 8 (LL); with less: ");
    expect("coll check " GOLDEN "ring_fused_4.xml --interpret 3", 0, "interpreted   not: ");
    expect("coll check " GOLDEN "reduce_scatter_4.xml", 0, "operand: the local operand and the target");
    expect("coll check " GOLDEN "broadcast_3.xml --wire mapped", 0, "(mapped): right for every vector length");
    expect("coll check " GOLDEN "broadcast_3.xml --root 1", 1, "reads rank 0's i");
    expect("coll check " WRONG "nine_ahead.xml", 1, "even where connections hold 8 messages");
    expect("coll check " WRONG "three_ahead.xml", 1, "must hold 8 messages, those of its protocol hold 2");
    expect("coll check " WRONG "twice.xml", 1, "holds the contribution of rank 1 twice");
    expect("coll check " WRONG "untold.xml", 1, "or say --allow hasdep");
    expect("coll check " WRONG "untold.xml --allow hasdep", 0, "hasdep: a step waits for one that has hasdep=\"0\"");
    expect("coll check " WRONG "untold.xml --allow races", 2, "'races' cannot be allowed; hasdep can");
    expect("coll check ring --ranks 4 --allow hasdep", 2, "--allow is for programs of MSCCL");
    expect("coll convert " GOLDEN "bruck_5.xml --to text", 0, "algorithm bruck-rotated");
    expect("coll convert " GOLDEN "ring_fused_4.xml --to text", 0, "\nroom 2\n");
    expect("coll convert ring --ranks 3 --to msccl", 0, "coll=\"allreduce\"");
    expect("coll convert ring --ranks 3 --to svg", 0, "</svg>");
    expect("coll convert ring --ranks 20 --to svg -o /dev/null", 0, "hard to read beyond 16");
    expect("coll convert ring --ranks 3 --wire mapped --to msccl", 2, "export the two-sided form");
    expect("coll convert ring --ranks 3 --to mscl", 2, "did you mean 'msccl'?");
    expect("coll convert ring --ranks 3", 2, "--to FORMAT is missing");
#undef GOLDEN
#undef WRONG
}

static void refusals_are_usage_errors_with_a_way_out(void **state)
{
    (void)state;
    expect("coll compile direct", 2, "--ranks P is missing");
    expect("coll compile --ranks 2", 2, "one algorithm is wanted");
    expect("coll compile rign --ranks 2", 2, "did you mean 'ring'?");
    expect("coll compile ring --ranks 2 --slots 8", 2, "direct can");
    expect("coll compile halving-doubling --ranks 6 --slots 8", 2, "4 or 8 ranks can");
    expect("coll compile direct --ranks 9 --slots 8", 2, "at most 8 ranks");
    expect("coll compile direct --ranks 2 --collective gathr", 2, "did you mean 'gather'?");
    expect("coll compile direct --ranks 2 --wire maped", 2, "did you mean 'mapped'?");
    expect("coll compile direct --ranks 4097", 2, "at most 4096");
    expect("coll compile direct --ranks 2 -o /nonexistent/x", 2, "/nonexistent");
}

static void a_written_file_is_the_printed_text_and_a_right_schedule(void **state)
{
    (void)state;
    char path[] = "/tmp/tutti_coll_XXXXXX", arguments[200], *bytes = NULL;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(arguments, sizeof arguments, "coll compile halving-doubling --ranks 5 --wire mapped --in-place -o %s",
             path);
    expect(arguments, 0, "halving-doubling allreduce of 5 ranks (mapped), hash ");
    char *printed = command_says("coll compile halving-doubling --ranks 5 --wire mapped --in-place", 0, "");
    size_t nbytes = 0;
    tutti_failure err = {0};
    tutti_schedule *s = NULL;
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_FAILED, &bytes, &nbytes, &err), TUTTI_OK);
    assert_string_equal(bytes, printed);
    if (tutti_schedule_parse(path, bytes, nbytes, &s, &err) != TUTTI_OK) fail_msg("%s", err.text);
    if (tutti_schedule_check(s, NULL, &err) != TUTTI_OK) fail_msg("%s", err.text);
    tutti_schedule_destroy(s);
    free(printed);
    free(bytes);
    unlink(path);
}

/* Appends the lines of `page` from the first that begins with `from` to the last indented one, four blanks less. */
static void take_example(const char *page, const char *from, char *out)
{
    const char *line = strstr(page, from);
    assert_non_null(line);
    for (const char *end; (end = strchr(line, '\n')) && (line == end || !strncmp(line, "    ", 4)); line = end + 1) {
        const char *begin = line == end ? line : line + 4;
        strncat(out, begin, (size_t)(end + 1 - begin));
    }
    size_t n = strlen(out);
    if (n > 1 && out[n - 1] == '\n' && out[n - 2] == '\n') out[n - 1] = '\0'; /* the blank line after it */
}

static void the_manual_shows_what_the_program_prints(void **state)
{
    (void)state;
    char *page = NULL, example[4000] = "";
    size_t nbytes = 0;
    assert_int_equal(
        tutti_file_read(TUTTI_SOURCE_DIR "/docs/schedule-format.md", 1 << 20, TUTTI_ERR_FAILED, &page, &nbytes, NULL),
        TUTTI_OK);
    take_example(page, "    tutti-schedule 1\n", example);
    char *printed = command_says("coll compile direct --ranks 2 --wire mapped", 0, "");
    assert_string_equal(printed, example);
    free(printed);
    free(page);
}

static void trees_are_packed_written_and_read_again(void **state)
{
    (void)state;
    char path[] = "/tmp/tutti-packing-XXXXXX", command[200];
    assert_true(close(mkstemp(path)) == 0);
    snprintf(command, sizeof command, "coll pack dgx1v,wires=nvlink --out %s", path);
    expect(command, 0, "68.5714 GB/s on 23 trees, 0 % below the bound");
    snprintf(command, sizeof command, "coll pack dgx1v,wires=nvlink --check %s", path);
    expect(command, 0, "68.5714 GB/s on 23 trees");
    snprintf(command, sizeof command, "coll pack dgx1p,wires=nvlink --check %s", path);
    expect(command, 1, "the link");
    snprintf(command, sizeof command, "coll pack dgx1v,nvlink=4TB --collective all-gather --out %s", path);
    expect(command, 0, "0 % below the bound");
    snprintf(command, sizeof command, "coll pack dgx1v,nvlink=4TB --check %s", path);
    expect(command, 0, "all-gather of 8 ranks");
    expect("coll pack dgx1v,wires=nvlink --loss 5 --solver none", 0, "our greedy way");
    expect("coll pack dgx2 --collective broadcast --root 16", 2, "ranks are 0 to 15");
    expect("coll pack star", 2, "--ranks");
    expect("coll pack fat-tree,leaves=64,hosts=64", 2, "room for 4096");
    expect("coll pack cluster,hosts=2,ranks=16384 --ranks 4", 2, "32773 nodes");
    expect("coll pack dgx1v,nvlink=9TB", 2, "18 TB/s between two nodes");
    expect("coll pack host", 2, "no links");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_shows_every_algorithm),
        cmocka_unit_test(verify_all_proves_the_table_at_given_rank_counts),
        cmocka_unit_test(every_collective_is_compiled_checked_and_explained),
        cmocka_unit_test(engines_answer_side_by_side_or_say_why_not),
        cmocka_unit_test(a_check_of_a_program_says_its_verdict_first),
        cmocka_unit_test(programs_of_msccl_are_checked_and_converted),
        cmocka_unit_test(refusals_are_usage_errors_with_a_way_out),
        cmocka_unit_test(a_written_file_is_the_printed_text_and_a_right_schedule),
        cmocka_unit_test(the_manual_shows_what_the_program_prints),
        cmocka_unit_test(trees_are_packed_written_and_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
