/* SPDX-License-Identifier: Apache-2.0 */
/* test_split_threads.c: nets whose dense layers groups of ranks share are trained: weights are those of data
 * parallelism, over memory and over a wire; checkpoints are whole; what is sent is counted. Ranks are threads of this
 * program. */
#include "testing.h"

#include <math.h>
#include <unistd.h>

#include "played_weights.h"
#include "training/run/step/exchanges.h"

/* A narrow CD-DNN: seven hidden layers; and a narrow AlexNet: convolutions before, ReLU and dropout between. */
#define DENSE "layers: [fc1, fc2, fc3, fc4, fc5, fc6, fc7]"
static const char dense_net[] = "name: dnn\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n"
                                "  - dense: {name: fc1, units: 32}\n  - sigmoid\n"
                                "  - dense: {name: fc2, units: 32}\n  - relu\n"
                                "  - dense: {name: fc3, units: 32}\n  - relu\n"
                                "  - dense: {name: fc4, units: 32, bias: false}\n  - relu\n"
                                "  - dense: {name: fc5, units: 32}\n  - sigmoid\n"
                                "  - dense: {name: fc6, units: 32}\n  - relu\n"
                                "  - dense: {name: fc7, units: 32}\n  - relu\n"
                                "  - dense: {name: fc8, units: 10}\n  - softmax-cross-entropy\n";
#define CONV "layers: [fc6, fc7]"
static const char conv_net[] = "name: alex\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n"
                               "  - conv: {out_channels: 4, kernel: 5, stride: 2}\n  - batch-norm\n  - relu\n"
                               "  - conv: {out_channels: 8, kernel: 3, stride: 2}\n  - relu\n"
                               "  - dropout: {rate: 0.5}\n  - dense: {name: fc6, units: 32}\n  - relu\n"
                               "  - dropout: {rate: 0.5}\n  - dense: {name: fc7, units: 24}\n  - relu\n"
                               "  - dense: {name: fc8, units: 10}\n  - softmax-cross-entropy\n";

/* Values with several readers, gradients that are sums, an auxiliary loss. */
#define DAG "layers: [first, side, aux, fc, last]"
static const char dag_net[] = "name: dag\ninput: [1, 28, 28]\nclasses: 12\nlayers:\n"
                              "  - dense: {name: first, units: 32}\n  - tanh: {name: x}\n"
                              "  - dense: {name: side, units: 32}\n  - add: {name: join, from: [x, side]}\n"
                              "  - dense: {name: aux, units: 12, from: x}\n  - softmax-cross-entropy: {weight: 0.3}\n"
                              "  - dense: {name: fc, units: 32, from: join}\n  - relu\n"
                              "  - add: {name: both, from: [relu1, side]}\n"
                              "  - dense: {name: last, units: 12}\n  - softmax-cross-entropy\n";

typedef struct {
    char dir[40];
    char text[700];
} folder;

static int make_folder(void **state)
{
    folder *f = calloc(1, sizeof *f);
    strcpy(f->dir, "/tmp/tutti-split-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int drop_folder(void **state)
{
    folder *f = *state;
    assert_int_equal(tutti_file_remove_tree(f->dir, NULL), TUTTI_OK);
    free(f);
    return 0;
}

/* A job of that net; parallel: "layers: [..], groups: 2", or nothing. */
static const char *job_of(folder *f, const char *net, const char *parallel, int steps)
{
    char path[64];
    snprintf(path, sizeof path, "%s/net.yaml", f->dir);
    assert_int_equal(tutti_file_write_atomic(path, net, strlen(net), NULL), TUTTI_OK);
    snprintf(f->text, sizeof f->text,
             "model: %s\ndata: {set: digits, train_samples: 400, test_samples: 40}\nbatch: 24\nsteps: %d\n"
             "optimiser: {rule: momentum, lr: 0.05}\nparallel: {%s}\ntensorboard: false\n",
             path, steps, parallel);
    return f->text;
}

/* Where what a run has left lies. */
static const char *out_of(const folder *f, const char *name, char out[64])
{
    snprintf(out, 64, "%s/%s", f->dir, name);
    return out;
}

static double farthest(const char *one, const char *other, const char *what)
{
    size_t n, m;
    float *a = weights_in(one, what, &n), *b = weights_in(other, what, &m);
    double most = 0;
    assert_true(n == m && n > 0);
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    free(a), free(b);
    return most;
}

static void expect_alike(const char *one, const char *other)
{
    const double weights = farthest(one, other, "weights"), momentum = farthest(one, other, "momentum");
    if (!(weights <= 1e-4) || !(momentum <= 1e-3))
        fail_msg("%s and %s: weights differ by %g, momentum by %g", one, other, weights, momentum);
}

static void train_in_groups(folder *f, const char *net, const char *layers, int nranks)
{
    char plain[64], split[96], parallel[120];
    snprintf(plain, sizeof plain, "%s/plain-%d", f->dir, nranks);
    const tutti_train_result whole = play(job_of(f, net, "", 20), nranks, plain, NULL);
    for (int groups = nranks; groups >= 1; groups /= 2) {
        snprintf(parallel, sizeof parallel, "%s, groups: %d", layers, groups);
        snprintf(split, sizeof split, "%s/%d-of-%d", f->dir, groups, nranks);
        const tutti_train_result r = play(job_of(f, net, parallel, 20), nranks, split, NULL);
        expect_alike(plain, split);
        if (groups == nranks) assert_true(r.weights_hash == whole.weights_hash);
        if (!(fabs(r.loss - whole.loss) <= 1e-4)) fail_msg("loss %.8f instead of %.8f", r.loss, whole.loss);
    }
}

static void dense_layers_end_where_data_parallelism_ends(void **state)
{
    train_in_groups(*state, dense_net, DENSE, 2);
    train_in_groups(*state, dense_net, DENSE, 4);
}

static void layers_behind_convolutions_and_dropout_do_too(void **state)
{
    train_in_groups(*state, conv_net, CONV, 2);
    train_in_groups(*state, conv_net, CONV, 4);
}

static void layers_that_several_read_do_too(void **state)
{
    train_in_groups(*state, dag_net, DAG, 4);
}

/* The same bits over a wire: sums are in one order. */
static void a_wire_gives_the_same_bits(void **state)
{
    folder *f = *state;
    const uint64_t want = bits_of(job_of(f, dense_net, DENSE ", groups: 2", 6), 4);
    played_job j = {.text = job_of(f, dense_net, DENSE ", groups: 2", 6), .nranks = 4, .wired = true};
    play_job(&j);
    for (int r = 0; r < 4; r++) {
        if (j.err[r].status) fail_msg("rank %d: %s", r, j.err[r].text);
        assert_true(j.result[r].weights_hash == want);
    }
}

static void other_settings_of_exchanges_end_there_too(void **state)
{
    folder *f = *state;
    static const char *const settings[] = {"exchange: {order: priority, buckets: soonest}\n",
                                           "exchange: {algorithm: ring, bucket_bytes: 0}\n",
                                           "exchange: {buckets: one}\nfuse: false\n"};
    char plain[64], split[64], text[800];
    play(job_of(f, conv_net, "", 20), 4, out_of(f, "plain", plain), NULL);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%s%s", job_of(f, conv_net, CONV ", groups: 2", 20), settings[i]);
        snprintf(split, sizeof split, "%s/setting%d", f->dir, i);
        play(text, 4, split, NULL);
        expect_alike(plain, split);
    }
}

static void a_resumed_run_has_the_bits_of_one_that_was_not(void **state)
{
    folder *f = *state;
    char out[64];
    const uint64_t want = bits_of(job_of(f, conv_net, CONV ", groups: 2", 20), 4);
    play(job_of(f, conv_net, CONV ", groups: 2", 7), 4, out_of(f, "resumed", out), NULL);
    assert_true(play(job_of(f, conv_net, CONV ", groups: 2", 20), 4, out, NULL).weights_hash == want);
}

/* Weights and states are whole in a checkpoint: other groups, other rank counts and data parallelism go on from it. */
static void a_checkpoint_is_read_in_other_groups_and_at_other_rank_counts(void **state)
{
    folder *f = *state;
    static const struct {
        int nranks;
        const char *parallel;
    } then[] = {
        {4, DENSE ", groups: 1"}, {2, DENSE ", groups: 1"}, {1, DENSE}, {4, ""}, {2, "layers: [fc2, fc8], groups: 1"}};
    char plain[64], out[64];
    play(job_of(f, dense_net, "", 20), 4, out_of(f, "plain", plain), NULL);
    for (int i = 0; i < 5; i++) {
        snprintf(out, sizeof out, "%s/then%d", f->dir, i);
        play(job_of(f, dense_net, DENSE ", groups: 2", 7), 4, out, NULL);
        play(job_of(f, dense_net, then[i].parallel, 20), then[i].nranks, out, NULL);
        expect_alike(plain, out);
    }
}

/* ---- what is sent ---- */

typedef struct {
    const tutti_job *job;
    tutti_group *group;
    tutti_failure err;
    int64_t sent, formula; /* bytes */
    pthread_t thread;
} counter;

/* What the executor has counted of an exchange over a wire, less what a rank has only kept: of a swap its own block, of
 * a sum its own slice. */
static int64_t sent_by(const tutti_shared *s, int i)
{
    const tutti_plan *p = s->plan;
    const tutti_plan_exchange *x = &p->exchanges[i];
    const tutti_collective c = tutti_schedule_head(p->schedules[x->schedule].compiled)->collective;
    const int64_t n = x->count / (c == TUTTI_ALL_TO_ALL ? x->nmembers : 1);
    tutti_exchange_stats stats;
    tutti_exchange_stats_read(s->exchange[i], &stats);
    assert_int_equal(stats.copies, 0);
    return stats.bytes_written - (c == TUTTI_ALL_GATHER ? 0 : n / x->nmembers * (int64_t)sizeof(float));
}

static void *count_bytes(void *arg)
{
    counter *c = arg;
    tutti_resolved parts = {0};
    tutti_shared shared = {0};
    const int rank = tutti_group_rank(c->group), nranks = tutti_group_nranks(c->group);
    const tutti_job_seat seat = {.rank = rank, .nranks = nranks, .host_of = tutti_group_hosts(c->group)};
    tutti_status st = tutti_job_resolve(c->job, &seat, &parts, &c->err);
    if (!st) st = tutti_shared_create(c->group, tutti_device_cpu(), parts.plan, false, &shared, &c->err);
    for (int i = 0; !st && i < parts.plan->nexchanges; i++) {
        const tutti_plan_exchange *x = &parts.plan->exchanges[i];
        const bool of_split = x->is_travel || (x->bucket >= 0 && parts.plan->buckets[x->bucket].parts > 1);
        if (of_split && shared.exchange[i] && x->drivers >> TUTTI_EACH_STEP & 1) c->sent += sent_by(&shared, i);
    }
    for (int s = 0; !st && s < parts.graph->nsplit; s++) {
        const tutti_split_volume v =
            tutti_split_volume_of(&parts.graph->split[s], nranks, c->job->plan.batch, tutti_graph_parts(parts.graph));
        c->formula += (v.activations + v.params) * (int64_t)sizeof(float);
    }
    c->err.status = st;
    tutti_shared_destroy(&shared);
    tutti_resolved_release(&parts);
    tutti_group_leave(c->group);
    return NULL;
}

static void the_executor_counts_what_the_formula_says(void **state)
{
    folder *f = *state;
    for (int groups = 1; groups <= 2; groups++) {
        counter ranks[4];
        tutti_group *groups_of[4];
        tutti_failure err = {0};
        tutti_job *job = NULL;
        char parallel[120];
        static const char *const overrides[] = {"ranks=4", "kernels=reference"};
        snprintf(parallel, sizeof parallel, DENSE ", groups: %d", groups);
        const char *text = job_of(f, dense_net, parallel, 1);
        if (tutti_job_parse("test", text, strlen(text), overrides, 2, &job, &err) ||
            wired_create(4, 20, groups_of, &err))
            fail_msg("%s", err.text);
        for (int r = 0; r < 4; r++) {
            ranks[r] = (counter){.job = job, .group = groups_of[r]};
            assert_int_equal(pthread_create(&ranks[r].thread, NULL, count_bytes, &ranks[r]), 0);
        }
        for (int r = 0; r < 4; r++) pthread_join(ranks[r].thread, NULL);
        for (int r = 0; r < 4; r++) {
            if (ranks[r].err.status) fail_msg("rank %d: %s", r, ranks[r].err.text);
            assert_true(ranks[r].sent > 0);
            assert_int_equal(ranks[r].sent, ranks[r].formula);
        }
        tutti_job_destroy(job);
    }
}

static void a_trace_shows_what_travels(void **state)
{
    folder *f = *state;
    char out[64], path[96], text[800], *trace, *layers;
    size_t nbytes;
    tutti_failure err = {0};
    snprintf(text, sizeof text, "%strace: {steps: 2}\n", job_of(f, conv_net, CONV ", groups: 2", 14));
    play(text, 4, out_of(f, "traced", out), NULL);
    snprintf(path, sizeof path, "%s/trace.json", out);
    if (tutti_file_read(path, 1 << 24, TUTTI_ERR_DATA, &trace, &nbytes, &err)) fail_msg("%s", err.text);
    assert_non_null(strstr(trace, "\"wait for inputs of fc6, group 1\""));
    assert_non_null(strstr(trace, "\"input gradients of fc7, group 0\""));
    assert_non_null(strstr(trace, "\"move fc6\""));
    assert_non_null(strstr(trace, "\"Process Group Ranks\":\"[2, 3]\""));
    snprintf(path, sizeof path, "%s/layers.txt", out);
    if (tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &layers, &nbytes, &err)) fail_msg("%s", err.text);
    assert_non_null(strstr(layers, "fc6"));
    free(trace), free(layers);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(dense_layers_end_where_data_parallelism_ends),
        WITH_FOLDER(layers_behind_convolutions_and_dropout_do_too),
        WITH_FOLDER(layers_that_several_read_do_too),
        WITH_FOLDER(a_wire_gives_the_same_bits),
        WITH_FOLDER(other_settings_of_exchanges_end_there_too),
        WITH_FOLDER(a_resumed_run_has_the_bits_of_one_that_was_not),
        WITH_FOLDER(a_checkpoint_is_read_in_other_groups_and_at_other_rank_counts),
        WITH_FOLDER(the_executor_counts_what_the_formula_says),
        WITH_FOLDER(a_trace_shows_what_travels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
