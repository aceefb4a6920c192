/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_checkpoint_threads.c: a training that is stopped goes on from its file, over any number of ranks (threads
 * here), and its model has the bytes of one that was never stopped. Files that are damaged or another training's are
 * refused on all ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "collective/comm_ranks.h"
#include "svm/checkpoint/svm_checkpoint_impl.h"
#include "svm/model/svm_model_impl.h"
#include "svm_sets.h"
#include "tutti/svm.h"

static char data_path[64], file_path[64];

enum { MOST_EVENTS = 1000 };

typedef struct {
    tutti_svm_config config;
    bool precomputed;
    int stop_after;      /* events, counted over all problems; 0: never */
    int stopper;         /* the rank that wants it */
    tutti_status wanted; /* of all ranks */
    const char *words;
    /* from rank 0 */
    char *model;
    int nevents;
    tutti_svm_event event[MOST_EVENTS];
} trial;

/* A rank's own. */
typedef struct {
    trial *t;
    bool root, stopper;
    int stop, nevents, told;
} rank_events;

static void on_event(void *arg, const tutti_svm_event *e)
{
    rank_events *mine = arg;
    if (mine->root && mine->nevents < MOST_EVENTS) mine->t->event[mine->nevents] = *e;
    mine->nevents++;
    mine->told = e->stop;
    if (mine->stopper && mine->nevents == mine->t->stop_after) mine->stop = 15;
}

static const char *play(tutti_comm *comm, void *arg)
{
    trial *t = arg;
    tutti_failure err = {0};
    tutti_svm_data data = {0};
    tutti_svm_model model = {0};
    tutti_svm_summary summary = {0};
    tutti_svm_config config = t->config;
    const tutti_svm_reading how = {.precomputed = t->precomputed};
    const bool root = tutti_comm_rank(comm) == 0;
    rank_events mine = {.t = t, .root = root, .stopper = tutti_comm_rank(comm) == t->stopper % tutti_comm_size(comm)};
    config.on_event = on_event, config.arg = &mine, config.stop = &mine.stop;
    EXPECT(!tutti_svm_data_read(comm, data_path, &how, &data, &err));
    const tutti_status st = tutti_svm_train(comm, &data, &config, &model, &summary, &err);
    EXPECT(st == t->wanted);
    if (st) EXPECT(strstr(err.text, t->words));
    EXPECT(mine.told == (t->stop_after ? 15 : 0)); /* whoever wanted it */
    if (!st && root) {
        size_t nbytes;
        free(t->model);
        t->model = tutti_svm_model_print(&model, &nbytes);
    }
    if (root) t->nevents = mine.nevents;
    tutti_svm_model_release(&model);
    tutti_svm_summary_release(&summary);
    tutti_svm_data_release(&data);
    return NULL;
}

static void run(trial *t, int nranks)
{
    run_comms(nranks, 30, play, t);
}

static void write_data(char *text)
{
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(data_path, text, strlen(text), &err), TUTTI_OK);
    free(text);
}

static trial new_trial(void)
{
    trial t = {.config = tutti_svm_config_default(), .words = "training was stopped in round"};
    t.config.precision = TUTTI_SVM_F32, t.config.block = 64; /* many rounds, and sets renewed in place */
    return t;
}

/* Without a file. */
static trial *straight(const trial *like)
{
    trial *t = tutti_alloc(sizeof *t);
    *t = *like;
    t->config.checkpoint = NULL;
    t->stop_after = 0, t->wanted = TUTTI_OK, t->model = NULL;
    run(t, 1);
    assert_in_range(t->nevents, 5, MOST_EVENTS);
    return t;
}

static void release(trial *t)
{
    free(t->model);
    free(t);
}

/* The rest of the way is the same, round by round. */
static bool same_events(const trial *rest, const trial *whole, int from)
{
    if (rest->nevents != whole->nevents - from) return false;
    for (int i = 0; i < rest->nevents; i++) {
        const tutti_svm_event *a = &rest->event[i], *b = &whole->event[from + i];
        if (a->pair != b->pair || a->round != b->round || a->iterations != b->iterations || a->gap != b->gap ||
            a->active != b->active || a->eliminated != b->eliminated || a->reconstructed != b->reconstructed ||
            a->over != b->over)
            return false;
    }
    return true;
}

/* Stops `first` ranks after so many events, then goes on with `second`. */
static void stop_and_go_on(trial *t, int events, int first, int second, const trial *whole)
{
    unlink(file_path);
    t->config.checkpoint = file_path;
    t->stop_after = events, t->stopper = first - 1, t->wanted = TUTTI_ERR_FAILED;
    run(t, first);
    assert_int_equal(access(file_path, F_OK), 0);
    t->stop_after = 0, t->wanted = TUTTI_OK;
    run(t, second);
    if (strcmp(t->model, whole->model) != 0 || !same_events(t, whole, events))
        fail_msg("stopped after %d events at %d ranks, %d ranks go another way", events, first, second);
}

/* Each number of ranks stops once and goes on once at each point; with TUTTI_LONG each does by each. Which those are is
 * another turn's choice: three turns have all. */
static void any_ranks_go_on(trial *t, int turn, int npoints)
{
    trial *whole = straight(t);
    const int nevents = whole->nevents;
    const bool is_long = getenv("TUTTI_LONG");
    for (int first = 1; first <= 3; first++)
        for (int second = 1; second <= 3; second++)
            for (int k = 0; k < npoints; k++) {
                if (!is_long && (first + second + turn + k) % 3) continue;
                stop_and_go_on(t, 1 + (nevents - 2) * (k * 9 + first * 3 + second - 3) / (9 * npoints + 3), first,
                               second, whole);
            }
    release(whole);
    free(t->model);
    unlink(file_path);
}

static void each_kind_of_elimination_goes_on_in_f32(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {{"none", NULL},
                                           {"single", "random:2"},
                                           {"single", "samples:50%"},
                                           {"multi", "random:2"},
                                           {"multi", "samples:10%"}};
    write_data(svm_blobs(300, 2, 1.0));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        trial t = new_trial();
        assert_int_equal(tutti_svm_elimination_parse(kinds[i][0], kinds[i][1], &t.config.elimination, NULL), TUTTI_OK);
        any_ranks_go_on(&t, (int)i, 1);
    }
}

static void f64_goes_on(void **state)
{
    (void)state;
    write_data(svm_blobs(300, 2, 1.0));
    trial t = new_trial();
    t.config.precision = TUTTI_SVM_F64, t.config.eps = 1e-7, t.config.cost = 10;
    any_ranks_go_on(&t, 2, 1);
}

static void threads_and_a_cache_change_nothing(void **state)
{
    (void)state;
    write_data(svm_blobs(300, 2, 1.0));
    trial t = new_trial();
    trial *whole = straight(&t);
    t.config.nthreads = 2, t.config.cache_mb = 1;
    stop_and_go_on(&t, whole->nevents / 2, 2, 1, whole);
    release(whole);
    free(t.model);
}

static char *read_whole(size_t *nbytes)
{
    char *bytes;
    tutti_failure err = {0};
    assert_int_equal(tutti_file_read(file_path, 1 << 24, TUTTI_ERR_DATA, &bytes, nbytes, &err), TUTTI_OK);
    return bytes;
}

/* What a file says, without what a cache changes. */
static char *stopped_file(trial *t, int events, int nranks, size_t *nbytes)
{
    tutti_svm_checkpoint_view v;
    t->stop_after = events, t->stopper = 0, t->wanted = TUTTI_ERR_FAILED;
    run(t, nranks);
    char *bytes = read_whole(nbytes);
    assert_int_equal(tutti_svm_checkpoint_parse("file", bytes, *nbytes, &v, NULL), TUTTI_OK);
    const size_t at = (size_t)((const char *)&v.state->kernel_rows - bytes);
    memset(bytes + at, 0, 2 * sizeof v.state->kernel_rows);
    memset(bytes + *nbytes - 8, 0, 8);
    return bytes;
}

/* Stopped after k + 1 events, or after k and then after one more, by other ranks: the file is the same. */
static void every_round_may_be_the_last(trial *t)
{
    trial *whole = straight(t);
    t->config.checkpoint = file_path;
    for (int k = 1; k < whole->nevents - 1; k++) {
        size_t nfirst, nsecond;
        unlink(file_path);
        char *first = stopped_file(t, k + 1, 1, &nfirst);
        unlink(file_path);
        free(stopped_file(t, k, 2, &nsecond));
        char *second = stopped_file(t, 1, 1 + k % 3, &nsecond);
        assert_int_equal(nfirst, nsecond);
        if (memcmp(first, second, nfirst) != 0) fail_msg("another file after %d events and one more", k);
        free(first);
        free(second);
    }
    release(whole);
    unlink(file_path);
}

static void each_file_of_a_training_is_the_one_of_a_training_that_was_stopped_before(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {{"single", "random:2"}, {"multi", "samples:50%"}};
    write_data(svm_blobs(150, 2, 1.0));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        trial t = new_trial();
        assert_int_equal(tutti_svm_elimination_parse(kinds[i][0], kinds[i][1], &t.config.elimination, NULL), TUTTI_OK);
        every_round_may_be_the_last(&t);
    }
}

static void four_classes_go_on(void **state)
{
    (void)state;
    write_data(svm_blobs(240, 4, 0.8));
    trial t = new_trial();
    any_ranks_go_on(&t, 0, 2);
}

static void probabilities_go_on(void **state)
{
    (void)state;
    write_data(svm_blobs(150, 3, 0.8));
    trial t = new_trial();
    t.config.probability = true;
    any_ranks_go_on(&t, 0, 2);
}

/* K(i, j) is not K(j, i): what is computed from which side shows. */
static void a_kernel_that_is_not_symmetric_goes_on(void **state)
{
    (void)state;
    enum { M = 240 };
    tutti_strbuf text = {0};
    for (int i = 0; i < M; i++) {
        tutti_strbuf_printf(&text, "%d 0:%d", (i * 7 + i / 5) % 3 ? 1 : -1, i + 1);
        for (int j = 0; j < M; j++)
            tutti_strbuf_printf(&text, " %d:%.9g", j + 1, (i == j) + exp(-0.02 * abs(i - j)) + (i < j ? 1e-5 : 0));
        tutti_strbuf_puts(&text, "\n");
    }
    write_data(tutti_strbuf_detach(&text));
    trial t = new_trial();
    t.precomputed = true, t.config.kernel.type = TUTTI_SVM_PRECOMPUTED;
    every_round_may_be_the_last(&t);
}

/* Saved after every round: the last state saved is as good as any. */
static void a_finished_training_leaves_a_file_that_gives_the_same_model(void **state)
{
    (void)state;
    write_data(svm_blobs(120, 3, 0.8));
    trial t = new_trial();
    trial *whole = straight(&t);
    t.config.checkpoint = file_path, t.config.checkpoint_s = 0;
    for (int nranks = 2; nranks > 0; nranks--) {
        run(&t, nranks);
        assert_string_equal(t.model, whole->model);
    }
    assert_true(t.nevents < whole->nevents / 2);
    release(whole);
    free(t.model);
    unlink(file_path);
}

/* --- refusals --- */

static void stop_somewhere(trial *t, int nranks)
{
    unlink(file_path);
    t->config.checkpoint = file_path;
    t->stop_after = 3, t->wanted = TUTTI_ERR_FAILED;
    run(t, nranks);
    t->stop_after = 0;
}

static void refused(trial t, int nranks, const char *words)
{
    t.wanted = TUTTI_ERR_DATA, t.words = words;
    run(&t, nranks);
}

static void other_options_are_named_with_both_values(void **state)
{
    (void)state;
    const int32_t label[] = {-1};
    const double weight[] = {3};
    write_data(svm_blobs(120, 2, 1.0));
    trial t = new_trial(), other;
    stop_somewhere(&t, 2);
    other = t, other.config.cost = 2,
    refused(other, 2, "there 'cost (-c, -w) of class 3: 1', here 'cost (-c, -w) of class 3: 2'");
    other = t, other.config.nweights = 1, other.config.weight_label = label, other.config.weight = weight;
    refused(other, 1, "of class -1: 1', here 'cost (-c, -w) of class -1: 3'");
    other = t, other.config.kernel.type = TUTTI_SVM_LINEAR,
    refused(other, 2, "there 'kernel (-t): rbf', here 'kernel (-t): linear'");
    other = t, other.config.kernel.gamma = 0.25, refused(other, 3, "there 'gamma (-g): 0.5', here 'gamma (-g): 0.25'");
    other = t, other.config.eps = 0.01, refused(other, 1, "there 'tolerance (-e): 0.001', here 'tolerance (-e): 0.01'");
    other = t, other.config.probability = true,
    refused(other, 1, "there 'probabilities (-b): 0', here 'probabilities (-b): 1'");
    other = t, other.config.precision = TUTTI_SVM_F64, refused(other, 1, "there 'precision (--precision): f32', here");
    other = t, other.config.block = 16,
    refused(other, 1, "there 'working set (--block): 64', here 'working set (--block): 16'");
    other = t, tutti_svm_elimination_parse("none", NULL, &other.config.elimination, NULL);
    refused(other, 2, "here 'elimination (--elimination): none'");
    other = t, tutti_svm_elimination_parse("multi", "random:7", &other.config.elimination, NULL);
    refused(other, 2, "here 'threshold (--threshold): random:7'");
    write_data(svm_blobs(120, 2, 0.9));
    refused(t, 2, "there 'hash of the data: ");
    write_data(svm_blobs(121, 2, 1.0));
    refused(t, 2, "there 'samples: 120', here 'samples: 121'");
    unlink(file_path);
}

static void assert_refused(const char *bytes, size_t nbytes, const char *words)
{
    tutti_failure err = {0};
    tutti_svm_checkpoint_view v;
    char *copy = malloc(nbytes + 1); /* of its own: what is read behind it is found */
    memcpy(copy, bytes, nbytes);
    assert_int_equal(tutti_svm_checkpoint_parse("file", copy, nbytes, &v, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, words));
    free(copy);
}

static void every_prefix_and_every_flipped_bit_is_refused(void **state)
{
    (void)state;
    write_data(svm_blobs(40, 3, 1.0));
    trial t = new_trial();
    t.config.block = 8;
    stop_somewhere(&t, 1);
    size_t nbytes;
    char *bytes = read_whole(&nbytes);
    for (size_t n = 0; n < nbytes; n++) assert_refused(bytes, n, "file: ");
    for (size_t bit = 0; bit < 8 * nbytes; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        assert_refused(bytes, nbytes, "file: ");
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
    }
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(file_path, bytes, nbytes - 8, &err), TUTTI_OK);
    refused(t, 3, "damaged or cut off"); /* on all ranks */
    free(bytes);
    unlink(file_path);
}

/* A right checksum over wrong words. */
static void what_does_not_fit_together_is_refused_whatever_its_checksum_is(void **state)
{
    (void)state;
    write_data(svm_blobs(40, 2, 1.0));
    trial t = new_trial();
    t.config.block = 8;
    stop_somewhere(&t, 1);
    size_t nbytes;
    char *bytes = read_whole(&nbytes);
    const size_t nwords = nbytes / 8 - 1;
    tutti_svm_checkpoint_view v;
    for (size_t i = 0; i < nwords; i++)
        for (int k = 0; k < 4; k++) {
            static const int64_t values[] = {-1, INT64_MAX, INT64_MIN,
                                             0x7ff0000000000000}; /* the last as a double: infinity */
            int64_t was, *word = (int64_t *)(void *)bytes + i;
            was = *word, *word = values[k];
            const uint64_t sum = tutti_hash(bytes, nbytes - 8);
            memcpy(bytes + nbytes - 8, &sum, sizeof sum);
            (void)tutti_svm_checkpoint_parse("file", bytes, nbytes, &v, NULL); /* ASan and UBSan look on */
            if (i == 3 || i == 4) assert_refused(bytes, nbytes, "fit together");
            if (i == 1) assert_refused(bytes, nbytes, "version");
            if (i == nwords - 1 && k > 2) assert_refused(bytes, nbytes, "fit together");
            *word = was;
        }
    const uint64_t sum = tutti_hash(bytes, nbytes - 8);
    memcpy(bytes + nbytes - 8, &sum, sizeof sum);
    assert_int_equal(tutti_svm_checkpoint_parse("file", bytes, nbytes, &v, NULL), TUTTI_OK);
    /* an alpha above C: only the problem knows */
    *(double *)(void *)(bytes + ((const char *)v.alpha - bytes)) = 1.5;
    const uint64_t again = tutti_hash(bytes, nbytes - 8);
    memcpy(bytes + nbytes - 8, &again, sizeof again);
    tutti_failure err = {0};
    assert_int_equal(tutti_file_write_atomic(file_path, bytes, nbytes, &err), TUTTI_OK);
    refused(t, 2, "does not fit the problem");
    free(bytes);
    unlink(file_path);
}

static void a_file_that_cannot_be_is_said_before_training(void **state)
{
    (void)state;
    write_data(svm_blobs(40, 2, 1.0));
    trial t = new_trial();
    t.config.checkpoint = "/nonexistent/folder/file";
    t.wanted = TUTTI_ERR_FAILED, t.words = "/nonexistent/folder/file";
    run(&t, 2);
    assert_int_equal(t.nevents, 0);
    t.config.checkpoint = "/tmp";
    refused(t, 2, "/tmp: is a folder");
    assert_int_equal(t.nevents, 0);
}

static int name_files(void **state)
{
    (void)state;
    snprintf(data_path, sizeof data_path, "/tmp/tutti_svm_ckpt_%d.txt", (int)getpid());
    snprintf(file_path, sizeof file_path, "/tmp/tutti_svm_ckpt_%d", (int)getpid());
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(data_path);
    unlink(file_path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_elimination_goes_on_in_f32),
        cmocka_unit_test(f64_goes_on),
        cmocka_unit_test(threads_and_a_cache_change_nothing),
        cmocka_unit_test(each_file_of_a_training_is_the_one_of_a_training_that_was_stopped_before),
        cmocka_unit_test(four_classes_go_on),
        cmocka_unit_test(probabilities_go_on),
        cmocka_unit_test(a_kernel_that_is_not_symmetric_goes_on),
        cmocka_unit_test(a_finished_training_leaves_a_file_that_gives_the_same_model),
        cmocka_unit_test(other_options_are_named_with_both_values),
        cmocka_unit_test(every_prefix_and_every_flipped_bit_is_refused),
        cmocka_unit_test(what_does_not_fit_together_is_refused_whatever_its_checksum_is),
        cmocka_unit_test(a_file_that_cannot_be_is_said_before_training),
    };
    return cmocka_run_group_tests(tests, name_files, remove_files);
}
