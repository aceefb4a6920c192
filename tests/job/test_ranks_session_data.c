/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_session_data.c: samples are made once a memory: ranks near the same one read the same pages, ranks near
 * another have theirs, and all bytes are those that a rank would have drawn for itself. */
#include "testing.h"

#include "collective/group/share.h"
#include "collective/rank_processes.h"
#include "job/session.h"

static const char JOB[] = "model: mlp\ndata: {set: digits, train_samples: 50, test_samples: 30}\nbatch: 8\nsteps: 1\n"
                          "optimiser: {lr: 0.1}\n";

/* The file that is mapped there, by its number; 0: none is. */
static uint64_t file_at(const void *at)
{
    char line[512];
    uint64_t found = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long begin, end, inode;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode) == 3 && (uintptr_t)at >= begin &&
            (uintptr_t)at < end)
            found = inode;
    }
    if (f) fclose(f);
    return found;
}

static bool are_equal(const tutti_dataset *a, const tutti_dataset *b, int64_t n)
{
    const tutti_shape s = tutti_dataset_shape(a);
    const size_t nbytes = (size_t)(s.dim[0] * s.dim[1] * s.dim[2]);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(tutti_dataset_bytes(a, i), tutti_dataset_bytes(b, i), nbytes) != 0) return false;
    return tutti_dataset_count(a) == n && tutti_dataset_count(b) == n;
}

static tutti_status look(tutti_group *g, const int32_t *memory_of, tutti_failure *err)
{
    tutti_job *job;
    tutti_session_data shared = {0}, own = {0};
    uint64_t files[4];
    const int rank = tutti_group_rank(g);
    tutti_status s = tutti_job_parse("job.yaml", JOB, strlen(JOB), NULL, 0, &job, err);
    if (!s) s = tutti_session_data_open(job, g, memory_of, &shared, err);
    if (!s) s = tutti_session_data_open(job, NULL, NULL, &own, err);
    if (s) return s;
    if (!are_equal(shared.train, own.train, 50) || !are_equal(shared.test, own.test, 30)) say("other samples"), s = 1;
    const uint64_t file = file_at(tutti_dataset_bytes(shared.train, 0));
    if (!file) say("a copy of its own"), s = 1;
    if (!s) s = tutti_group_all_gather(g, "files", &file, files, sizeof file, err);
    for (int r = 0; r < 4 && !s; r++) {
        const bool is_near = !memory_of || memory_of[r] == memory_of[rank];
        if ((files[r] == file) != is_near) say(is_near ? "a memory has them twice" : "another memory's"), s = 1;
    }
    tutti_session_data_release(&shared);
    tutti_session_data_release(&own);
    tutti_job_destroy(job);
    return s;
}

static int run_as_rank(const char *mode)
{
    static const int32_t pairs[4] = {0, 1, 0, 1}, alone[4] = {2, 0, 0, 0};
    tutti_group_config c;
    tutti_failure err = {0};
    tutti_group *g = NULL;
    take_host();
    tutti_status s = tutti_group_config_from_env(&c, &err);
    if (!s) s = tutti_group_join(&c, &g, &err);
    if (!s) s = look(g, !strcmp(mode, "pairs") ? pairs : !strcmp(mode, "one alone") ? alone : NULL, &err);
    if (!s || err.text[0]) say(s ? err.text : "fine");
    tutti_group_leave(g);
    return s;
}

static void each_memory_has_the_samples_once(void **state)
{
    (void)state;
    static const char *const modes[] = {"one memory", "pairs", "one alone"};
    for (int m = 0; m < 3; m++) {
        outcome o;
        run_mode("test_ranks_session_data", modes[m], 4, &o);
        if (o.exit_code) fail_msg("%s: exit %d: %.600s; rank 0: %s", modes[m], o.exit_code, o.words, o.heard[0]);
        for (int r = 0; r < 4; r++) expect_words(&o, r, "fine");
    }
}

int main(int argc, char **argv)
{
    if (is_rank(argc)) return run_as_rank(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_memory_has_the_samples_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
