/* SPDX-License-Identifier: Apache-2.0 */
/* The file between tutti and tutti-simgrid: what is cut short or has other numbers in it is refused, or is sound all
 * the same; then the player can play it without leaving it. The helper answers a file that is none with words. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/host/program.h"
#include "base/rng.h"
#include "collective/simulate/engines/actor_player.h"
#include "collective/simulate/engines/actor_read.h"
#include "collective/simulate/engines/actor_writer.h"
#include "topology/parsed_topology.h"
#include "tutti/compile.h"

/* A halving-doubling of 4 ranks as a problem; the caller's. */
static char *written(size_t *nbytes)
{
    char *bytes = NULL;
    tutti_schedule *s = NULL;
    tutti_topology t = parsed("fat-tree,leaves=2,hosts=2,spines=2,routing=ecmp,paths=2");
    const tutti_compile_request request = {.collective = TUTTI_ALLREDUCE, .nranks = 4};
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(tutti_schedule_compile("halving-doubling", &request, &s, NULL), TUTTI_OK);
    assert_int_equal(tutti_actor_write(s, &t, 1000, &(tutti_actor_options){.most_messages = 1000}, file, NULL),
                     TUTTI_OK);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *nbytes = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*nbytes);
    assert_int_equal(fread(bytes, 1, *nbytes, file), *nbytes);
    fclose(file);
    tutti_schedule_destroy(s);
    return bytes;
}

/* Nothing arrives; who has to wait for it stays there. */
static void nothing_sent(void *with, int32_t line, double bytes, int32_t tag)
{
    (void)with, (void)line, (void)bytes, (void)tag;
}
static void nothing_received(void *with, int32_t line, int32_t tag)
{
    (void)with, (void)line, (void)tag;
}
static void nothing_signalled(void *with, int32_t line, double bytes)
{
    (void)with, (void)line, (void)bytes;
}
static void nothing_loaded(void *with, const tutti_actor_load *load, int32_t tag)
{
    (void)with, (void)load, (void)tag;
}

static void walk(const tutti_actor_problem *p)
{
    static const tutti_actor_wire wire = {nothing_sent, nothing_received, nothing_signalled, nothing_loaded};
    uint8_t *done = calloc((size_t)p->head->nsteps + 1, 1);
    for (int32_t r = 0; r < p->head->nranks; r++) {
        tutti_actor_player q;
        tutti_actor_player_begin(p, r, done, &wire, NULL, &q);
        double now = 0;
        for (int i = 0; i < 20 && now < INFINITY; i++) now = tutti_actor_player_go(&q, now);
        tutti_actor_player_release(&q);
    }
    free(done);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    size_t nbytes;
    char *bytes = written(&nbytes), why[200];
    tutti_actor_problem p;
    if (!tutti_actor_read(bytes, nbytes, &p, why)) fail_msg("%s", why);
    assert_int_equal(p.head->nranks, 4);
    assert_int_equal(p.head->nparts, 2);
    assert_int_equal(p.head->nlines, 8); /* two partners each */
    assert_true(p.head->nsteps > 0 && p.head->npairs >= 8);
    walk(&p);
    free(bytes);
}

static void what_is_cut_short_is_refused(void **state)
{
    (void)state;
    size_t nbytes;
    char *bytes = written(&nbytes), why[200];
    tutti_actor_problem p;
    for (size_t n = 0; n < nbytes; n++) {
        char *part = malloc(n + 1);
        memcpy(part, bytes, n);
        assert_false(tutti_actor_read(part, n, &p, why));
        assert_true(strlen(why) > 20);
        free(part);
    }
    free(bytes);
}

static void other_numbers_are_refused_or_sound(void **state)
{
    (void)state;
    size_t nbytes;
    char *bytes = written(&nbytes), why[200];
    int nrefused = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        char *other = malloc(nbytes);
        memcpy(other, bytes, nbytes);
        const tutti_random4 r = tutti_random(7, TUTTI_STREAM_TEST, i, 0);
        const size_t at = (size_t)(r.word[0] % (nbytes / 4)) * 4;
        const uint32_t values[] = {0xffffffffu,    0x7fffffffu, r.word[2],
                                   r.word[2] & 15, 0x7ff00000u, 1u << (r.word[2] & 31)};
        memcpy(other + at, &values[r.word[1] % 6], 4);
        tutti_actor_problem p;
        if (tutti_actor_read(other, nbytes, &p, why))
            walk(&p);
        else
            nrefused++;
        free(other);
    }
    assert_true(nrefused > 2000);
    free(bytes);
}

static void the_helper_answers_nonsense_with_words(void **state)
{
    (void)state;
    const char *helper = getenv("TUTTI_SIMGRID");
    char *folder = NULL, *text = NULL, problem[300], answer[300];
    size_t nbytes;
    if (!helper) {
        print_message("skipped: no tutti-simgrid (./dev setup --test, then a new build)\n");
        return;
    }
    assert_int_equal(tutti_program_folder(&folder, NULL), TUTTI_OK);
    snprintf(problem, sizeof problem, "%s/problem", folder), snprintf(answer, sizeof answer, "%s/answer", folder);
    assert_int_equal(tutti_file_write_atomic(problem, "tuttisg1 and so on", 18, NULL), TUTTI_OK);
    const char *const argv[] = {helper, problem, answer, NULL}, *const bare[] = {helper, NULL};
    assert_int_equal(tutti_program_run(argv, folder, 60, NULL), TUTTI_OK);
    assert_int_equal(tutti_file_read(answer, 1000, TUTTI_ERR_DATA, &text, &nbytes, NULL), TUTTI_OK);
    assert_int_equal(strncmp(text, "error ", 6), 0);
    assert_int_equal(tutti_program_run(bare, folder, 60, NULL), TUTTI_ERR_FAILED);
    tutti_file_remove_tree(folder, NULL);
    free(folder), free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_cut_short_is_refused),
        cmocka_unit_test(other_numbers_are_refused_or_sound),
        cmocka_unit_test(the_helper_answers_nonsense_with_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
