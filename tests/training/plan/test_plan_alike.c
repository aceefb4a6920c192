/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_alike.c: the proof by classes of elements holds what the proof of the whole holds. Right plans are proved
 * so, without the whole; of plans that random mistakes were made in none is, unless the whole says that it is right all
 * the same. */
#include "testing.h"

#include <stdlib.h>

#include "../split_world.h"
#include "base/rng.h"
#include "method_world.h"
#include "training/plan/prove/plan_alike.h"

/* Verdicts on a plan by each way of proving. refuted: a class was refused. */
typedef struct {
    bool alike, whole, refuted;
} verdicts;

static void judge(const tutti_plan *p, int memory, tutti_loop_driver last, bool asks_whole, tutti_proved_keys *proved,
                  verdicts *v)
{
    tutti_composition c;
    if (tutti_composition_create(&c, p, memory, last, NULL)) {
        v->alike = v->whole = false;
    } else {
        v->alike &= tutti_composition_prove_alike(&c, proved);
        v->refuted |= proved->is_refuted;
        if (asks_whole) v->whole &= tutti_composition_check(&c, NULL) == TUTTI_OK;
    }
    tutti_composition_release(&c);
}

static verdicts judge_plan(const tutti_plan *p, bool asks_whole)
{
    verdicts v = {true, true, false};
    tutti_failure words = {0};
    tutti_proved_keys proved = {.err = &words};
    for (int m = 0; m < p->nmemories; m++) {
        if (p->memories[m].holds != TUTTI_HOLDS_ALL || p->memories[m].role == TUTTI_ROLE_NUMBERS) continue;
        judge(p, m, TUTTI_EACH_PERIOD, asks_whole, &proved, &v);
        for (int d = TUTTI_EACH_TEST; d < TUTTI_NDRIVERS; d++)
            if (tutti_plan_has_loop(p, (tutti_loop_driver)d))
                judge(p, m, (tutti_loop_driver)d, asks_whole, &proved, &v);
    }
    free(proved.keys);
    return v;
}

static const int32_t hosts[] = {0, 0, 1, 1, 2, 2, 3, 3};

static const struct {
    const char *method;
    tutti_plan_config config;
    int parts; /* ranks of a group that shares layers; 0: none does */
} plans[] = {
    {"sync-sgd", {.nranks = 3, .nstates = 2}, 0},
    {"sync-sgd", {.nranks = 4, .algorithm = "ring"}, 0},
    {"sync-sgd", {.nranks = 4, .slots = 8, .nstates = 1}, 0},
    {"sync-sgd", {.nranks = 3, .early = true, .nstates = 1}, 0},
    {"sync-sgd", {.nranks = 3, .only_finite = true, .nstates = 1}, 0},
    {"sync-sgd", {.nranks = 4, .norms = TUTTI_NORMS_OF_TENSORS, .nstates = 1}, 0},
    {"sync-sgd", {.nranks = 2, .replicated = true, .algorithm = "one-shot"}, 0},
    {"sync-sgd", {.nranks = 4, .accumulate = 3, .by_need = true}, 0},
    {"sync-sgd", {.nranks = 4, .host_of = hosts, .sent = TUTTI_BF16}, 0},
    {"sync-sgd", {.nranks = 1}, 0},
    {"local-sgd", {.nranks = 3, .period = 3, .nstates = 1}, 0},
    {"local-sgd", {.nranks = 4, .period = 4, .nstates = 1, .mean_states = true, .host_of = hosts}, 0},
    {"sync-easgd1", {.nranks = 4, .period = 2}, 0},
    {"sync-easgd2", {.nranks = 3, .period = 1}, 0},
    {"sync-easgd3", {.nranks = 3, .period = 2, .nstates = 1}, 0},
    {"diloco", {.nranks = 4, .period = 5, .nstates = 2}, 0},
    {"sync-sgd", {.nranks = 2}, 2},
    {"sync-sgd", {.nranks = 4, .host_of = hosts}, 2},
    {"sync-sgd", {.nranks = 6, .algorithm = "ring", .by_need = true}, 2},
    {"sync-sgd", {.nranks = 8}, 4},
};
enum { NPLANS = sizeof plans / sizeof *plans };

typedef struct {
    world whole;
    split_world split;
    tutti_plan *plan;
} subject;

static void make_plan(subject *s, int i, int rank)
{
    tutti_plan_config config = plans[i].config;
    *s = (subject){0};
    config.rank = rank;
    if (!config.period) config.period = 1;
    if (plans[i].parts)
        split_make(&s->split, plans[i].parts, config);
    else
        make(&s->whole, plans[i].method, config);
    s->plan = plans[i].parts ? s->split.plan : s->whole.plan;
}

static void destroy_plan(subject *s)
{
    destroy(&s->whole);
    split_destroy(&s->split);
}

static void right_plans_are_proved_by_classes_alone(void **state)
{
    (void)state;
    for (int i = 0; i < NPLANS; i++)
        for (int rank = 0; rank < plans[i].config.nranks; rank += 2) {
            subject s;
            make_plan(&s, i, rank);
            if (!judge_plan(s.plan, false).alike) fail_msg("plan %d, %s, rank %d", i, plans[i].method, rank);
            destroy_plan(&s);
        }
}

/* ---- mistakes ---- */

typedef struct {
    uint64_t stream, n;
} draws;

static int below(draws *d, int n)
{
    return (int)tutti_random_below(tutti_random(17, TUTTI_STREAM_TEST, d->stream, d->n++), (uint64_t)n);
}

static tutti_loop *some_loop(draws *d, const tutti_plan *p)
{
    tutti_loop *l;
    do l = (tutti_loop *)&p->loops[below(d, TUTTI_NDRIVERS)];
    while (l->nactions < 2);
    return l;
}

/* Of actions on elements. */
static void change_elements(draws *d, const tutti_plan *p, tutti_action *a)
{
    if (a->bucket < 0) return;
    switch (below(d, 4)) {
    case 0: tutti_plan_own_slice(p, a->bucket, below(d, p->config.nranks), &a->first, &a->count); break;
    case 1: a->count -= a->count > 0; break;
    case 2: a->first += a->count > 1, a->count -= a->count > 1; break;
    default: a->first = p->buckets[a->bucket].offset, a->count = p->buckets[a->bucket].count;
    }
}

static void change_action(draws *d, const tutti_plan *p, tutti_action *a)
{
    if (a->kind >= TUTTI_DO_LOOK)
        change_elements(d, p, a);
    else if (a->kind == TUTTI_DO_START || a->kind == TUTTI_DO_TELL)
        a->when ^= below(d, 2) ? TUTTI_WHEN_READY : TUTTI_WHEN_FREE;
    else if (a->kind == TUTTI_DO_KERNEL || a->kind == TUTTI_DO_FOLD)
        a->dst = below(d, p->ncopies);
}

static void make_mistake(draws *d, const tutti_plan *p)
{
    tutti_loop *l = some_loop(d, p);
    const int at = below(d, l->nactions), near = at + below(d, 9) - 4, far = below(d, l->nactions);
    tutti_plan_exchange *x = p->nexchanges ? (tutti_plan_exchange *)&p->exchanges[below(d, p->nexchanges)] : NULL;
    switch (below(d, x ? 8 : 5)) {
    case 0: move_action(l, at, far); break;
    case 1: move_action(l, at, near < 0 || near >= l->nactions ? far : near); break;
    case 2: remove_action(l, at); break;
    case 3:
    case 4: change_action(d, p, &l->actions[at]); break;
    case 5: l->actions[at].exchange = l->actions[at].exchange < 0 ? -1 : below(d, p->nexchanges); break;
    case 6: x->count -= x->count > 16 ? 16 : 0; break;
    default: x->in.copy = below(d, p->memories[x->in.memory].copies);
    }
}

/* A plan that is proved by classes must be right by the whole, and a plan that a class refuses must be wrong by the
 * whole, however many mistakes were made. */
static void no_mistake_is_proved_that_the_whole_refuses(void **state)
{
    (void)state;
    const int nmutants = getenv("TUTTI_LONG") ? 2000 : 60;
    int nright = 0, nwrong = 0, nboth = 0, nrefuted = 0;
    for (int i = 0; i < NPLANS; i++)
        for (int k = 0; k < nmutants; k++) {
            subject s;
            draws d = {.stream = (uint64_t)(i * 100000 + k)};
            make_plan(&s, i, below(&d, plans[i].config.nranks));
            for (int n = 1 + below(&d, 2); n > 0; n--) make_mistake(&d, s.plan);
            const verdicts v = judge_plan(s.plan, true);
            if (v.alike && !v.whole) fail_msg("plan %d, %s, mutant %d is proved by classes", i, plans[i].method, k);
            if (v.refuted && v.whole) fail_msg("plan %d, %s, mutant %d is refused by a class", i, plans[i].method, k);
            nright += v.whole, nwrong += !v.whole, nboth += v.alike, nrefuted += v.refuted;
            destroy_plan(&s);
        }
    print_message("%d mutants are wrong, %d of these by a class; %d are right all the same, %d of these by classes\n",
                  nwrong, nrefuted, nright, nboth);
    assert_true(nrefuted > nwrong / 5);
    assert_true(nwrong > nmutants * NPLANS / 4 && nright > nmutants * NPLANS / 20 && nboth > nright / 2);
}

/* ---- many ranks that share layers ---- */

static void leave_out(tutti_loop *l, tutti_action_kind kind, int exchange)
{
    remove_action(l, find_action(l, kind, exchange, NULL));
}

/* Rank 0 of 24 does not update its slice of a bucket: the class says which element lacks a sum. */
static void a_wrong_sum_of_many_ranks_is_refused_by_its_class(void **state)
{
    (void)state;
    world w;
    tutti_failure err = {0};
    make(&w, "sync-sgd", (tutti_plan_config){.nranks = 24, .nstates = 1, .period = 1});
    tutti_loop *step = &w.plan->loops[TUTTI_EACH_STEP];
    step->actions[find_on_bucket(step, TUTTI_DO_APPLY, 2)].count = 0;
    assert_true(judge_plan(w.plan, false).refuted);
    assert_int_equal(tutti_plan_check(w.plan, &err), TUTTI_ERR_FAILED);
    if (!strstr(err.text, "'s result, elements 112 to 115 (fc1.weight)") || !strstr(err.text, "lacks the contribution"))
        fail_msg("%s", err.text);
    destroy(&w);
}

/* Four ways in which rank 0 races on a bucket, and one on control numbers. */
enum { UPDATES_TOO_EARLY, TELLS_TOO_EARLY, STARTS_TOO_EARLY, READS_TOO_EARLY, COUNTS_TOO_EARLY, NRACES };

static void make_race(const tutti_plan *p, int race, int bucket)
{
    tutti_loop *step = (tutti_loop *)&p->loops[TUTTI_EACH_STEP];
    const int sums = exchange_of(p, "gradients", bucket), weights = exchange_of(p, "weights", bucket);
    const int update = find_on_bucket(step, TUTTI_DO_APPLY, bucket);
    const int start = find_action(step, TUTTI_DO_START, sums, NULL);
    const int read = find_action(step, TUTTI_DO_WAIT, weights, NULL);
    const int count = find_action(step, TUTTI_DO_START, find_exchange(p, "control numbers"), NULL);
    int kernel = read;
    switch (race) {
    case UPDATES_TOO_EARLY: move_action(step, update, find_action(step, TUTTI_DO_WAIT, sums, NULL)); break;
    case TELLS_TOO_EARLY: move_action(step, find_action(step, TUTTI_DO_TELL, weights, NULL), update); break;
    case STARTS_TOO_EARLY: move_action(step, start, start - 1); break;
    case COUNTS_TOO_EARLY: move_action(step, count, count - 1); break;
    default:
        while (step->actions[kernel].kind != TUTTI_DO_KERNEL) kernel++;
        move_action(step, read, kernel);
    }
}

/* Returns the words of the proof of the whole about the first memory that must hold all. */
static void say_whole(const tutti_plan *p, tutti_failure *err)
{
    tutti_composition c;
    int m = 0;
    while (p->memories[m].holds != TUTTI_HOLDS_ALL) m++;
    assert_int_equal(tutti_composition_create(&c, p, m, TUTTI_EACH_PERIOD, NULL), TUTTI_OK);
    (void)tutti_composition_check(&c, err);
    tutti_composition_release(&c);
}

/* The memory is the one that the whole names, and the words say which action races with which exchange. Elements may be
 * others, as the whole has several races. */
static void a_race_is_refused_by_its_class_as_the_whole_refuses_it(void **state)
{
    (void)state;
    static const tutti_plan_config configs[] = {
        {.nranks = 24, .nstates = 1}, {.nranks = 8, .algorithm = "ring"}, {.nranks = 6, .host_of = hosts}};
    for (int i = 0; i < 3; i++)
        for (int race = 0; race < NRACES; race++)
            for (int bucket = 0; bucket < 3; bucket++) {
                world w;
                tutti_plan_config config = configs[i];
                tutti_failure err = {0}, whole = {0};
                char exchanged[64];
                config.period = 1;
                make(&w, "sync-sgd", config);
                make_race(w.plan, race, bucket);
                say_whole(w.plan, &whole);
                assert_true(judge_plan(w.plan, false).refuted);
                assert_int_equal(tutti_plan_check(w.plan, &err), TUTTI_ERR_FAILED);
                const char *from = strstr(whole.text, "race on rank 0's "), *to = strstr(whole.text, ", elements ");
                snprintf(exchanged, sizeof exchanged, " of bucket %d number 0, its step ", bucket);
                if (race == COUNTS_TOO_EARLY)
                    snprintf(exchanged, sizeof exchanged, " of control numbers number 0, its step ");
                assert_true(from && to);
                if (strncmp(err.text, whole.text, (size_t)(to - whole.text)) != 0 || !strstr(err.text, exchanged) ||
                    !strstr(err.text, " is not ordered after ") || !strstr(err.text, ", action "))
                    fail_msg("plan %d, race %d, bucket %d: %s, not as %s", i, race, bucket, err.text, whole.text);
                destroy(&w);
            }
}

/* One mistake of rank 0 among 16 ranks in groups of 8. */
static void one_wrong_rank_of_many_that_share_layers_is_refused_by_classes(void **state)
{
    (void)state;
    enum { RIGHT, NO_UPDATE, OTHERS_PART, NO_WAIT, NO_SAMPLES, NOT_WHOLE, HALF_A_SUM, MISTAKES };
    for (int wrong = RIGHT; wrong < MISTAKES; wrong++) {
        split_world w;
        tutti_failure err = {0};
        if (split_try_wide(&w, 8, 2, (tutti_plan_config){.nranks = 16}, &err)) fail_msg("%s", err.text);
        tutti_loop *step = &w.plan->loops[TUTTI_EACH_STEP], *test = &w.plan->loops[TUTTI_EACH_TEST];
        int bucket = 0;
        while (w.plan->buckets[bucket].parts == 1) bucket++;
        tutti_action *update = &step->actions[find_on_bucket(step, TUTTI_DO_APPLY, bucket)];
        char sum[64], whole[64];
        snprintf(sum, sizeof sum, "gradients of bucket %d, part 0", bucket);
        snprintf(whole, sizeof whole, "all parts of bucket %d, group 0", bucket);
        if (wrong == NO_UPDATE) update->count = 0;
        if (wrong == OTHERS_PART) update->first += w.graph->params[w.plan->order[bucket]].count / 8;
        if (wrong == NO_WAIT) leave_out(step, TUTTI_DO_WAIT, find_exchange(w.plan, sum));
        if (wrong == NO_SAMPLES) leave_out(step, TUTTI_DO_WAIT, find_exchange(w.plan, "inputs of fc1, group 0"));
        if (wrong == NOT_WHOLE) leave_out(test, TUTTI_DO_WAIT, find_exchange(w.plan, whole));
        if (wrong == HALF_A_SUM) w.plan->exchanges[find_exchange(w.plan, sum)].count /= 2;
        if (judge_plan(w.plan, false).alike != (wrong == RIGHT)) fail_msg("mistake %d", wrong);
        split_destroy(&w);
    }
}

/* ---- a mistake that no class shows ---- */

static tutti_status declare_right(tutti_plan_builder *b, tutti_failure *err)
{
    return tutti_method_find("sync-sgd")->emitter->declare(b, err);
}

static int action_of(const tutti_plan_builder *b, tutti_action_kind kind, int bucket)
{
    return find_action(&b->loops[TUTTI_EACH_STEP], kind, exchange_of(b->plan, "gradients", bucket), NULL);
}

/* Rank 0 waits for the sums of a bucket before it begins those of the next one, the others the other way about. */
static void list_crossed(tutti_plan_builder *b)
{
    tutti_loop *l = &b->loops[TUTTI_EACH_STEP];
    tutti_method_find("sync-sgd")->emitter->list(b);
    if (b->rank == 0) {
        move_action(l, action_of(b, TUTTI_DO_WAIT, 0), 1 + action_of(b, TUTTI_DO_START, 0));
    } else {
        move_action(l, action_of(b, TUTTI_DO_WAIT, 1), 1 + action_of(b, TUTTI_DO_START, 1));
        move_action(l, action_of(b, TUTTI_DO_START, 0), action_of(b, TUTTI_DO_WAIT, 1));
    }
}

/* Half of it does nobody any harm. */
static void list_half_crossed(tutti_plan_builder *b)
{
    if (b->rank == 0)
        tutti_method_find("sync-sgd")->emitter->list(b);
    else
        list_crossed(b);
}

static void ranks_that_wait_for_each_other_are_refused(void **state)
{
    (void)state;
    static const tutti_emitter crossed = {declare_right, list_crossed}, half = {declare_right, list_half_crossed};
    for (int nranks = 2; nranks <= 4; nranks++)
        for (int wrong = 0; wrong < 2; wrong++) {
            world w;
            tutti_failure err = {0};
            make(&w, "sync-sgd", (tutti_plan_config){.nranks = nranks, .period = 1});
            tutti_plan_config config = w.plan->config;
            tutti_plan *plan;
            config.method = wrong ? &crossed : &half;
            if (tutti_plan_build(w.graph, &config, &plan, &err)) fail_msg("%s", err.text);
            const verdicts v = judge_plan(plan, true);
            assert_true(v.alike == !wrong && v.whole == !wrong);
            if (wrong) expect_refusal(plan, "deadlock");
            tutti_plan_destroy(plan);
            destroy(&w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_plans_are_proved_by_classes_alone),
        cmocka_unit_test(no_mistake_is_proved_that_the_whole_refuses),
        cmocka_unit_test(a_wrong_sum_of_many_ranks_is_refused_by_its_class),
        cmocka_unit_test(a_race_is_refused_by_its_class_as_the_whole_refuses_it),
        cmocka_unit_test(one_wrong_rank_of_many_that_share_layers_is_refused_by_classes),
        cmocka_unit_test(ranks_that_wait_for_each_other_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
