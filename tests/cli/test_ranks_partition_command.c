/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_partition_command.c: `tutti train --partition` as a user gives it: ranks sit where it says, by what the
 * kernel says of them; results have the bits of ranks that sit nowhere; what does not fit is refused, and shown before
 * it is run. Groups need cores: on a machine with one only, those of one group are tested. */
#include "testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host/cores.h"
#include "cli/command_folder.h"

#define JOB                                                                                                            \
    "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 4\n"                      \
    "optimiser: {rule: momentum, lr: 0.02}\n"
static const double PATIENCE_S = 60;

static int forget(void **state)
{
    (void)state;
    return unsetenv("HWLOC_SYNTHETIC") || unsetenv("TUTTI_CORES");
}

static int make_job(void **state)
{
    if (folder_make(state) || forget(state)) return -1;
    put("job.yaml", JOB);
    return 0;
}

static int ncores(void)
{
    tutti_core_set own;
    tutti_cores_own(&own);
    return tutti_cores_count(&own);
}

/* The last line's 16 digits. */
static char *hash_of(const char *arguments)
{
    char line[512];
    snprintf(line, sizeof line, "train $/job.yaml --fresh --quiet --out $/run %s", arguments);
    char *text = says(line, 0, "weights "), *hash = strndup(strstr(text, "weights "), 24);
    free(text);
    return hash;
}

static void results_have_the_bits_of_ranks_that_are_bound_to_nothing(void **state)
{
    (void)state;
    static const char *const methods[] = {"sync-sgd", "sync-easgd3"};
    for (int m = 0; m < 2; m++) {
        char line[128];
        snprintf(line, sizeof line, "--ranks 2 --set threads=1 --set method=%s", methods[m]);
        char *free_ones = hash_of(line);
        for (int groups = 1; groups <= 2 && groups <= ncores(); groups++) {
            snprintf(line, sizeof line, "--ranks 2 --set threads=1 --set method=%s --partition %d", methods[m], groups);
            char *bound = hash_of(line);
            assert_string_equal(bound, free_ones);
            free(bound);
        }
        free(free_ones);
    }
}

static void ranks_and_threads_that_are_not_given_go_by_the_groups(void **state)
{
    (void)state;
    char words[64];
    snprintf(words, sizeof words, "\nthreads: %d\n", tutti_cores_usable() < 1024 ? tutti_cores_usable() : 1024);
    char *text = says("train $/job.yaml --dry-run --partition 1", 0, "\nranks: 1\n");
    /* hardware threads are not cores */
    if (!strstr(text, words) && !strstr(text, "hardware threads")) fail_msg("not '%s': %s", words, text);
    assert_non_null(strstr(text, "# partition 1: 1 group of "));
    assert_non_null(strstr(text, ", 1 rank (as many as groups), "));
    assert_non_null(strstr(text, "#   rank 0: group 0: cores "));
    assert_non_null(strstr(text, "1 rank needs "));
    free(text);
    free(says("train $/job.yaml --dry-run --partition 1 --ranks 2 --set threads=3", 0, "\nthreads: 3\n"));
    free(says("plan $/job.yaml --set partition=1 --ranks 2", 0, "ranks 0-1: group 0: cores "));
    if (ncores() < 2) return;
    text = says("train $/job.yaml --partition 2 --out $/two", 0, "partition 2 sets the ranks: 2, one a group\n");
    assert_non_null(strstr(text, "partition 2: 2 groups of "));
    assert_non_null(strstr(text, "\n  rank 0 bound to cores "));
    assert_non_null(strstr(text, "\n  rank 1 bound to cores "));
    free(text);
    /* a job that is resolved says all, and is the same wherever it is read */
    text = get("two/job.yaml");
    assert_non_null(strstr(text, "\nranks: 2\n"));
    assert_non_null(strstr(text, "\npartition: \"2\"\n"));
    free(text);
    check("report $/two", 0, "bound     partition 2: 2 groups of ");
    check("train $/job.yaml --partition numa --ranks 2 --out $/two --set steps=6", 0, "resuming at step 4");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    check("train $/job.yaml --partition 4096", 2, "--set partition=4096: partition: 4096 groups of ");
    check("train $/job.yaml --partition l4", 2, "'l4' is neither none, numa nor l3, nor a number of groups");
    check("train $/job.yaml --partition 1 --ranks-as-threads", 2, "binds ranks that are processes");
    put("bad.yaml", JOB "partition: 0\n");
    check("plan $/bad.yaml", 2, "bad.yaml: line 6: partition: '0' is neither none");
    put("wide.yaml",
        "name: wide\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - dense: {name: fc1, units: 1000000}\n"
        "  - dense: {name: fc2, units: 10000000}\n  - dense: {name: fc3, units: 10}\n  - softmax-cross-entropy\n");
    check("train $/job.yaml --dry-run --partition 1 --ranks 2 --set kernels=reference --set model=$/wide.yaml", 2,
          "take fewer groups, a smaller model or batch, fewer samples, or 'partition: none'");
    char *text =
        says("train $/job.yaml --partition 1 --ranks 2 --out $/wide --set kernels=reference --set model=$/wide.yaml", 2,
             "tutti train: rank 0: partition: 1: memory of ");
    assert_null(strstr(strstr(text, "partition: 1: memory of ") + 1, "partition: 1: memory of ")); /* once */
    free(text);
    setenv("TUTTI_CORES", "0-", 1);
    check("train $/job.yaml --partition 1", 2, "environment: TUTTI_CORES='0-' is not a list of cores");
    setenv("TUTTI_CORES", "4000-4095", 1);
    check("train $/job.yaml --partition 1", 2, "partition: cores 4000-4095 are none that this host allows");
    forget(state);
    if (ncores() < 2) return;
    check("train $/job.yaml --partition 2 --ranks 3 --set batch=15", 2,
          "partition: 3 ranks of this host do not divide into 2 groups; 2 or 4 would");
    check("train $/job.yaml --partition 2 --set batch=15", 2, "; ranks: 2, as many as 'partition: 2' has groups here");
}

/* Machines of hwloc's descriptions are looked at, as those of lstopo's files are: what one has for memory counts,
 * too. */
static void a_machine_that_is_not_here_is_shown_and_not_run(void **state)
{
    (void)state;
    setenv("HWLOC_SYNTHETIC", "pack:2 [numa(memory=100MB)] l3:1 core:4 pu:2", 1);
    setenv("TUTTI_CORES", "0-15", 1);
    char *text = says("train $/job.yaml --dry-run --partition l3", 0,
                      "# partition l3: 2 groups of 4 cores, 2 ranks (as many as groups), ");
    assert_non_null(strstr(text, "#   rank 0: group 0: cores 0-7 (4 cores, 8 hardware threads), L3 0 ("));
    assert_non_null(strstr(text, "#   rank 1: group 1: cores 8-15 (4 cores, 8 hardware threads), L3 1 ("));
    assert_non_null(strstr(text, "#   memory of node 0: 1 rank needs "));
    assert_non_null(strstr(text, "#   memory of node 1: 1 rank needs "));
    free(text);
    text = says("plan $/job.yaml --set partition=4 --ranks 8", 0,
                "ranks 6-7: group 3: cores 12-15 (2 cores, 4 hardware threads), part of L3 1 (");
    assert_non_null(strstr(text, ", memory of node 1 ("));
    assert_non_null(strstr(text, ", shared by 2 groups\n"));
    free(text);
    check("train $/job.yaml --partition l3", 2,
          "hwloc's variables describe another machine, where nothing can be bound");
    /* two ranks near one node need more than it has, one does not */
    setenv("HWLOC_SYNTHETIC", "pack:2 [numa(memory=2MiB)] l3:2 core:2 pu:1", 1);
    setenv("TUTTI_CORES", "0-7", 1);
    check("train $/job.yaml --dry-run --set kernels=reference --partition numa", 0, "of 2.1 MB");
    check("train $/job.yaml --dry-run --partition l3", 2,
          "tutti train: partition: l3: memory of node 0: 2 ranks need ");
}

/* ---- ranks that others start ---- */

/* Two of them, each by a line of its own; what both said. */
static char *by_hand(const char *before[2], const char *arguments, int *codes)
{
    char script[1500];
    snprintf(
        script, sizeof script,
        "cd %s; export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d; (RANK=0 LOCAL_RANK=0 %s %s train job.yaml "
        "--fresh --quiet --out apart %s >said0 2>&1; echo $? >code0) & RANK=1 LOCAL_RANK=1 %s %s train job.yaml "
        "--fresh "
        "--quiet --out apart %s >said1 2>&1; echo $? >code1; wait; cat said0 said1 >said",
        dir, 20000 + getpid() % 10000, before[0], TUTTI_PROGRAM, arguments, before[1], TUTTI_PROGRAM, arguments);
    assert_int_equal(system(script), 0);
    for (int r = 0; r < 2; r++) {
        char *code = get(r ? "code1" : "code0");
        codes[r] = atoi(code);
        free(code);
    }
    return get("said");
}

static void under_other_launchers_ranks_bind_themselves_within_what_all_were_given(void **state)
{
    (void)state;
    int codes[2];
    const char *unsaid[] = {"", ""}, *told[] = {"LOCAL_WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2"};
    char *said = by_hand(unsaid, "--partition 1", codes);
    assert_int_equal(codes[0] + codes[1], 2 * TUTTI_ERR_USAGE);
    assert_non_null(strstr(said, "set LOCAL_RANK and LOCAL_WORLD_SIZE for each of them"));
    free(said);
    said = by_hand(told, ncores() < 2 ? "--partition 1" : "--partition 2", codes);
    assert_int_equal(codes[0] + codes[1], 0);
    assert_non_null(strstr(said, "weights "));
    free(said);
    /* one that somebody has bound to less has cut another machine */
    tutti_core_set own;
    char line[96];
    int first = 0, n = 0;
    tutti_cores_own(&own);
    if (ncores() < 2) return;
    while (!tutti_cores_has(&own, first)) first++;
    snprintf(line, sizeof line, "LOCAL_WORLD_SIZE=2 taskset -c %d", first);
    const char *bound[] = {line, "LOCAL_WORLD_SIZE=2"};
    said = by_hand(bound, "--partition 1 --set threads=1", codes);
    assert_int_equal(codes[0] + codes[1], 2 * TUTTI_ERR_USAGE);
    assert_non_null(strstr(said, "ranks of one host must share out the same cores, but rank 0 was started on cores "));
    assert_non_null(strstr(said, "mpirun --bind-to none"));
    free(said);
    /* unless all are told what there is */
    tutti_strbuf cores = {0};
    for (int i = first; n < 2; i++)
        if (tutti_cores_has(&own, i)) tutti_strbuf_printf(&cores, n++ ? ",%d" : "%d", i);
    snprintf(line, sizeof line, "TUTTI_CORES=%s LOCAL_WORLD_SIZE=2 taskset -c %d", cores.text, first);
    const char *both[] = {line, line};
    said = by_hand(both, "--partition 2", codes);
    assert_int_equal(codes[0] + codes[1], 0);
    free(said);
    tutti_strbuf_release(&cores);
}

/* Where a rank sits, by what rank 0 has said; free(). Inlined, gcc 12 takes the text for one that is gone. */
__attribute__((noinline)) static char *seat_of(const char *said, int rank)
{
    char key[32];
    snprintf(key, sizeof key, "\n  rank %d bound to ", rank);
    const char *at = strstr(said, key);
    if (!at) fail_msg("no rank %d in %s", rank, said);
    at += strlen(key);
    return strndup(at, strcspn(at, "\n"));
}

/* Two hosts of two ranks each, which are this machine twice: both share out all of it. */
static void each_host_is_partitioned_for_itself(void **state)
{
    (void)state;
    char script[1500];
    if (ncores() < 2) return;
    snprintf(
        script, sizeof script,
        "cd %s; for r in 0 1 2 3; do (TUTTI_HOST_ID=h$((r / 2)) TUTTI_NET_IF=lo RANK=$r LOCAL_RANK=$((r %% 2)) "
        "LOCAL_WORLD_SIZE=2 "
        "WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=%d %s train job.yaml --fresh --out hosts --partition 2 >said$r "
        "2>&1; echo $? >>said$r) & done; wait",
        dir, 20000 + (getpid() + 1) % 10000, TUTTI_PROGRAM);
    assert_int_equal(system(script), 0);
    char *said = get("said0");
    if (!strstr(said, "2 groups of ") || !strstr(said, " on rank 0's host, 4 ranks, ") || !strstr(said, "\n0\n"))
        fail_msg("%s", said);
    char *first = seat_of(said, 0), *second = seat_of(said, 2);
    assert_string_equal(first, second);
    free(first);
    free(second);
    free(said);
}

/* ---- what the kernel says ---- */

static pid_t start(const char *out, const char *partition)
{
    char job[300], run[300];
    snprintf(job, sizeof job, "%s/job.yaml", dir);
    snprintf(run, sizeof run, "%s/%s", dir, out);
    pid_t pid = fork();
    if (pid) return pid;
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0), dup2(null, 1), dup2(null, 2);
    execl(TUTTI_PROGRAM, "tutti", "train", job, "--fresh", "--quiet", "--out", run, "--ranks", "2", "--set",
          "steps=100000000", "--set", "log_every=1", "--partition", partition, (char *)NULL);
    _exit(127);
}

static char *line_of(const char *path, const char *key)
{
    char line[4096], *found = NULL;
    FILE *f = fopen(path, "r");
    while (f && !found && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) found = strndup(line + strlen(key), strcspn(line + strlen(key), "\n"));
    if (f) fclose(f);
    return found;
}

/* Every thread of the process may run on these cores and no others. */
static bool all_are_on(pid_t pid, const char *cores, int *nthreads)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    bool same = tasks;
    *nthreads = 0;
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", pid, e->d_name);
        char *list = line_of(path, "Cpus_allowed_list:\t");
        if (list) ++*nthreads; /* else it has ended */
        same = same && (!list || !strcmp(list, cores));
        free(list);
    }
    if (tasks) closedir(tasks);
    return same;
}

/* The pids of both ranks of a launcher, in order, once they are two. */
static bool find_ranks(pid_t launcher, pid_t out[2])
{
    char path[64], list[128] = "", *end;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", launcher, launcher);
    FILE *f = fopen(path, "r");
    if (f && !fgets(list, sizeof list, f)) list[0] = '\0';
    if (f) fclose(f);
    out[0] = (pid_t)strtol(list, &end, 10);
    out[1] = (pid_t)strtol(end, NULL, 10);
    return out[0] > 0 && out[1] > 0;
}

/* Whether memory of the process has a policy, where the kernel says so of memory at all. */
static bool prefers_memory(pid_t pid)
{
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/%d/numa_maps", pid);
    FILE *f = fopen(path, "r");
    bool found = !f || !fgets(line, sizeof line, f);
    while (f && !found && fgets(line, sizeof line, f)) found = strstr(line, " prefer") || strstr(line, " bind");
    if (f) fclose(f);
    return found;
}

static bool has_stepped(const char *out)
{
    char name[64], path[300];
    snprintf(name, sizeof name, "%s/metrics.jsonl", out);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    char *text = access(path, R_OK) == 0 ? get(name) : NULL;
    const bool stepped = text && strstr(text, "\"ev\":\"step\"");
    free(text);
    return stepped;
}

/* Two groups of this process's cores, or one; hwloc's order is the system's where no core has two threads. */
static void expected_cores(int groups, char lists[2][128])
{
    char *text;
    char line[64];
    snprintf(line, sizeof line, "train $/job.yaml --dry-run --ranks 2 --partition %d", groups);
    text = says(line, 0, "group 0: cores ");
    for (int g = 0; g < 2; g++) {
        char key[32];
        snprintf(key, sizeof key, "group %d: cores ", groups == 2 ? g : 0);
        const char *at = strstr(text, key);
        assert_non_null(at);
        at += strlen(key);
        snprintf(lists[g], sizeof lists[g], "%.*s", (int)strcspn(at, " "), at);
    }
    free(text);
}

static void the_kernel_says_of_every_thread_that_it_is_bound(void **state)
{
    (void)state;
    for (int groups = 1; groups <= 2 && groups <= ncores(); groups++) {
        char lists[2][128], partition[8], out[16], path[96];
        pid_t ranks[2] = {0};
        int nthreads[2] = {0}, status;
        bool fine = false;
        expected_cores(groups, lists);
        snprintf(partition, sizeof partition, "%d", groups);
        snprintf(out, sizeof out, "kernel%d", groups);
        snprintf(path, sizeof path, "train $/job.yaml --ranks 2 --fresh --out $/run --partition %d", groups);
        char *text = says(path, 0, "; memory ");
        const bool memory = strstr(text, "memory bound to the nearest nodes");
        free(text);
        const pid_t launcher = start(out, partition);
        for (const double end = tutti_clock_s() + PATIENCE_S; !fine && tutti_clock_s() < end; tutti_clock_sleep_s(0.05))
            fine = has_stepped(out) && find_ranks(launcher, ranks) &&
                   (!memory || (prefers_memory(ranks[0]) && prefers_memory(ranks[1]))) &&
                   all_are_on(ranks[0], lists[0], &nthreads[0]) && all_are_on(ranks[1], lists[1], &nthreads[1]);
        kill(launcher, SIGTERM);
        assert_int_equal(waitpid(launcher, &status, 0), launcher);
        if (!fine) fail_msg("in %d groups no two ranks on cores %s and %s", groups, lists[0], lists[1]);
        assert_true(nthreads[0] > 1 && nthreads[1] > 1); /* its loader's too */
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_the_bits_of_ranks_that_are_bound_to_nothing),
        cmocka_unit_test(ranks_and_threads_that_are_not_given_go_by_the_groups),
        cmocka_unit_test_teardown(what_does_not_fit_is_refused, forget),
        cmocka_unit_test_teardown(a_machine_that_is_not_here_is_shown_and_not_run, forget),
        cmocka_unit_test(under_other_launchers_ranks_bind_themselves_within_what_all_were_given),
        cmocka_unit_test(each_host_is_partitioned_for_itself),
        cmocka_unit_test(the_kernel_says_of_every_thread_that_it_is_bound),
    };
    return cmocka_run_group_tests(tests, make_job, folder_drop);
}
