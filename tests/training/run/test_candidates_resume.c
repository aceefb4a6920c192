/* SPDX-License-Identifier: Apache-2.0 */
/* test_candidates_resume.c: networks of the zoo, narrow, train by every candidate of the table, by each pass of
 * another, and with convolutions that begin to skip zeros on the way: a run that stops after two of four steps goes on
 * from its checkpoint to the bits of one that did not. Kernels may be others from there on, which is said, but where
 * sums are canonical, which is refused. Its long form has all networks. */
#include "../told_job.h"

#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "played_job.h"

enum { STEPS = 4, HALF = 2 };

static int make_dir(void **state)
{
    char *dir = strdup("/tmp/tutti_resume_XXXXXX");
    *state = mkdtemp(dir);
    return 0;
}

static int drop_dir(void **state)
{
    assert_int_equal(tutti_file_remove_tree(*state, NULL), TUTTI_OK);
    free(*state);
    return 0;
}

/* The hash of the weights at the end, after so many steps. */
static uint64_t play(played_job *j, int64_t steps)
{
    j->nranks = 1;
    j->fast = true;
    play_job(j);
    if (j->err[0].status) fail_msg("%s%s", j->text, j->err[0].text);
    assert_int_equal(j->result[0].step, steps);
    assert_false(j->result[0].was_done);
    return j->result[0].weights_hash;
}

/* like: listeners. */
static void expect_the_same_end(const played_job *like, const char *dir)
{
    played_job whole = *like, first = *like, second = *like;
    const uint64_t want = play(&whole, STEPS);
    first.dir = dir, first.fresh = true, first.stop_step = HALF;
    assert_true(play(&first, HALF) != want);
    second.dir = dir;
    if (play(&second, STEPS) != want) fail_msg("%sa resumed run ends with other weights", like->text);
    assert_true(second.result[0].loss == whole.result[0].loss);
    assert_int_equal(second.from, HALF); /* and not from the beginning, which ends so as well */
}

/* Short: each candidate on a network or two. */
static void runs_go_on_to_the_same_bits_by_every_candidate(void **state)
{
    const char *name;
    char model[ZOO_PATH], text[ZOO_JOB];
    const bool is_long = getenv("TUTTI_LONG");
    int n = 0;
    for (int m = 0; zoo_at(m, model); m++)
        for (int i = 0; (name = tutti_candidate_name_at(i)); i++)
            for (int half = 0; half < 2; half++) {
                if (!is_long && (m + i) % 4 != half) continue;
                if (!told_job_by(model, name, half ? "precision: bf16\n" : "", text)) continue;
                expect_the_same_end(&(played_job){.text = text}, *state);
                n++;
            }
    assert_true(n > 0);
}

static void runs_go_on_to_the_same_bits_by_each_pass_of_another(void **state)
{
    char model[ZOO_PATH], text[ZOO_JOB], path[] = "/tmp/tutti_told_XXXXXX";
    close(mkstemp(path));
    for (int m = 0; zoo_at(m, model); m++) {
        told_job_by_others(model, m, path, text);
        expect_the_same_end(&(played_job){.text = text}, *state);
    }
    unlink(path);
}

/* ---- convolutions that skip zeros ---- */

typedef struct {
    const tutti_graph *graph;
    int64_t at;            /* the step behind which all that can begin to skip zeros; 0: none does */
    int nswitches, nwrong; /* nwrong: that skip others than they were told */
    unsigned by_gradient;  /* TUTTI_SPARSE_BY_GRADIENT or 0 */
} switching;

static void find_switches(void *arg, const tutti_session *s)
{
    switching *w = arg;
    w->graph = s->parts.graph;
    w->nswitches = 0;
    for (int l = 0; l < w->graph->nkernels; l++) w->nswitches += tutti_sparse_is_switch(&w->graph->kernels[l]);
}

/* As a test would have it that finds enough zeros; these networks are too narrow for the rule. Passes by turns, and
 * whose zeros the weights' gradients skip: which of the two bits do not tell. */
static unsigned wanted(const switching *w, int l)
{
    const unsigned passes = l % 3 ? 7 : 1u << l % 7 % 3;
    return passes | (passes >> TUTTI_PASS_PARAMS & 1 ? w->by_gradient : 0);
}

static void switch_over(void *arg, const tutti_train_event *event)
{
    switching *w = arg;
    if (event->kind != TUTTI_TRAIN_STEP || event->step < w->at) return;
    for (int l = 0; l < w->graph->nkernels; l++) {
        tutti_kernel *k = &w->graph->kernels[l];
        if (event->step == w->at) tutti_sparse_set_passes(k, wanted(w, l));
        w->nwrong += tutti_sparse_is_switch(k) && tutti_sparse_passes(k) != wanted(w, l);
    }
}

/* How many of them differ from the run that never skips. */
static int skip_and_go_on(const char *text, unsigned by_gradient, const char *dir)
{
    switching w = {.by_gradient = by_gradient};
    played_job dense = {.text = text, .on_open = find_switches, .on_open_arg = &w}, switched = dense;
    const uint64_t never = play(&dense, STEPS);
    if (!w.nswitches) return 0;
    w.at = 1;
    switched.on_event = switch_over, switched.on_event_arg = &w;
    expect_the_same_end(&switched, dir);
    assert_int_equal(w.nwrong, 0);
    switched = (played_job){
        .text = text, .on_open = find_switches, .on_open_arg = &w, .on_event = switch_over, .on_event_arg = &w};
    return play(&switched, STEPS) != never;
}

static void runs_go_on_skipping_the_zeros_that_they_skipped(void **state)
{
    static const unsigned by[] = {0, TUTTI_SPARSE_BY_GRADIENT};
    char model[ZOO_PATH], text[ZOO_JOB];
    for (int i = 0; i < 2; i++) {
        int ndiffer = 0;
        for (int m = 0; zoo_at(m, model); m++) {
            zoo_job(model, "kernels: {sparse: auto}\n", text);
            ndiffer += skip_and_go_on(text, by[i], *state);
        }
        assert_true(ndiffer > 0); /* else it would not matter which kernel it went on with */
    }
}

/* ---- other kernels ---- */

static void note_said(void *arg, const tutti_train_event *event)
{
    bool *said = arg;
    *said = *said || (event->kind == TUTTI_TRAIN_NOTE && strstr(event->text, "resuming by another plan"));
}

static uint64_t plan_hash(const char *text)
{
    tutti_job *job = NULL;
    tutti_resolved r;
    told_resolve(text, &job, &r);
    const uint64_t hash = tutti_plan_hash(r.plan);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return hash;
}

/* For as many steps as there may be candidates. */
static void lengthen(char text[ZOO_JOB])
{
    char *steps = strstr(text, "steps: 4\n");
    assert_non_null(steps);
    memmove(steps + strlen("steps: 40"), steps + strlen("steps: 4"), strlen(steps + strlen("steps: 4")) + 1);
    steps[strlen("steps: 4")] = '0';
}

/* A step by each candidate. */
static void a_run_may_go_on_by_other_kernels_and_says_so(void **state)
{
    const char *name;
    char model[ZOO_PATH], text[ZOO_JOB];
    for (int m = 0; zoo_at(m, model); m++) {
        uint64_t before = 0;
        int64_t step = 0;
        for (int i = 0; (name = tutti_candidate_name_at(i)); i++) {
            if (!told_job_by(model, name, "", text)) continue;
            lengthen(text);
            bool said = false;
            played_job j = {.text = text,
                            .dir = *state,
                            .fresh = step == 0,
                            .stop_step = 1,
                            .on_event = note_said,
                            .on_event_arg = &said};
            play(&j, ++step);
            assert_true(isfinite(j.result[0].loss));
            const uint64_t now = plan_hash(text);
            if (said != (step > 1 && now != before))
                fail_msg("%s by %s: the change is %s", model, name, said ? "said" : "not said");
            before = now;
        }
    }
}

/* Bits are the job's there. */
static void canonical_runs_keep_their_kernels(void **state)
{
    static const char keys[] = "reduction: canonical\nslots: 4\n";
    const char *name;
    char text[ZOO_JOB], other[ZOO_JOB], words[96];
    assert_true(told_job_by("lenet", "reference", keys, text));
    play(&(played_job){.text = text, .dir = *state, .stop_step = HALF}, HALF);
    for (int i = 0; (name = tutti_candidate_name_at(i)); i++) {
        if (!strcmp(name, "reference") || !told_job_by("lenet", name, keys, other)) continue;
        played_job j = {.text = other, .nranks = 1, .fast = true, .dir = *state};
        play_job(&j);
        assert_int_equal(j.err[0].status, TUTTI_ERR_USAGE);
        snprintf(words, sizeof words, "kernels.name is reference there, %s here", name);
        if (!strstr(j.err[0].text, words)) fail_msg("expected '%s' in: %s", words, j.err[0].text);
    }
    play(&(played_job){.text = text, .dir = *state}, STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_go_on_to_the_same_bits_by_every_candidate, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(runs_go_on_to_the_same_bits_by_each_pass_of_another, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(runs_go_on_skipping_the_zeros_that_they_skipped, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(a_run_may_go_on_by_other_kernels_and_says_so, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(canonical_runs_keep_their_kernels, make_dir, drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
