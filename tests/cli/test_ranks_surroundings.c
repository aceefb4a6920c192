/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_surroundings.c: a machine that gives less than was asked for (threads, stack, calls of its file system):
 * the same numbers, or words at the start. */
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "command_folder.h"

static const char job[] =
    "model: lenet\ndata: {set: digits, train_samples: 256, test_samples: 64}\nbatch: 32\nsteps: 3\n"
    "threads: 4\noptimiser: {lr: 0.02}\n";
static const char small[] =
    "model: mlp\ndata: {set: digits, train_samples: 256, test_samples: 64}\nbatch: 32\nsteps: 3\n"
    "optimiser: {lr: 0.02}\n";

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* The last line of a run, "weights 6a6b.. step 3 loss ..": free() */
static char *end_of(const char *words)
{
    char *text = says(words, 0, "weights "), *end = strdup(strstr(text, "\nweights ") + 1);
    free(text);
    return end;
}

/* ---- threads ---- */

static void openmps_settings_do_not_change_a_number(void **state)
{
    (void)state;
    static const char *const settings[][2] = {{"OMP_DYNAMIC", "TRUE"},
                                              {"OMP_MAX_ACTIVE_LEVELS", "0"},
                                              {"OMP_NUM_THREADS", "1"},
                                              {"OMP_THREAD_LIMIT", "4"},
                                              {"OMP_NESTED", "false"}};
    put("job.yaml", job);
    char *want = end_of("train $/job.yaml --out $/plain");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        set(settings[i][0], settings[i][1]);
        check("train $/job.yaml --out $/other --fresh", 0, want);
        set(settings[i][0], NULL);
    }
    free(want);
}

static void a_limit_of_openmps_is_named_before_the_first_step(void **state)
{
    (void)state;
    put("job.yaml", job);
    check("train $/job.yaml --out $/plain --fresh", 0, "weights ");
    set("OMP_THREAD_LIMIT", "3");
    check("train $/job.yaml --out $/other", 2,
          "threads: 4 are asked for, and OMP_THREAD_LIMIT=3 allows a process 3: unset OMP_THREAD_LIMIT, or say --set "
          "threads=3");
    check("train $/job.yaml --ranks 2 --out $/other", 2, "OMP_THREAD_LIMIT=3 allows");
    check("eval $/plain", 2, "OMP_THREAD_LIMIT=3 allows");
    check("infer $/plain", 2, "");
    check("tune kernels $/job.yaml -o $/k", 2, "OMP_THREAD_LIMIT=3 allows");
    check("train $/job.yaml --out $/other --set threads=3", 0, "weights ");
    set("OMP_THREAD_LIMIT", NULL);
    set("OMP_STACKSIZE", "32k");
    check("train $/job.yaml --out $/third", 2,
          "gives each a stack of 32 KiB, and kernels need 256 (OMP_STACKSIZE is 32k)");
    set("OMP_STACKSIZE", NULL);
}

/* The arguments of a shell's line that runs the program, %s, under a limit. */
static void under(const char *before, const char *arguments, int code, const char *words)
{
    tutti_strbuf line = {0};
    int got;
    char *own = in_folder(arguments);
    tutti_strbuf_printf(&line, "help >/dev/null; cd /; %s '%s' %s 2>&1", before, TUTTI_PROGRAM, own);
    char *text = command_run(line.text, &got);
    if (got != code || !strstr(text, words)) fail_msg("%s: exit code %d, expected %d\n%s", before, got, code, text);
    free(text), free(own);
    tutti_strbuf_release(&line);
}

/* Root's processes are not counted, so the run is another user's, whom nobody else is. */
static void threads_that_the_system_does_not_give_are_named(void **state)
{
    (void)state;
    if (geteuid() != 0 || system("setpriv --reuid 64321 --clear-groups prlimit --nproc=9 true 2>/dev/null") != 0)
        skip();
    put("job.yaml", job);
    assert_int_equal(chmod(dir, 0777), 0);
    static const char *const limits[] = {"2", "3", "4"};
    for (int i = 0; i < 3; i++) {
        char before[120], words[80];
        snprintf(before, sizeof before, "setpriv --reuid 64321 --clear-groups prlimit --nproc=%s", limits[i]);
        snprintf(words, sizeof words, "threads: 9 are asked for, and the system gives %d", atoi(limits[i]) - 1);
        under(before, "train $/job.yaml --set threads=9 --out $/limited", 1, words);
    }
}

/* ---- stack ---- */

static void a_soft_limit_of_the_stack_is_raised(void **state)
{
    (void)state;
    put("job.yaml", small);
    char *want = end_of("train $/job.yaml --set threads=2 --ranks 2 --out $/plain --fresh");
    static const char *const soft[] = {"ulimit -Ss 72;", "ulimit -Ss 100;", "ulimit -Ss 200;"};
    for (int i = 0; i < 3; i++) {
        under(soft[i], "train $/job.yaml --set threads=2 --ranks 2 --out $/small --fresh", 0, want);
        under(soft[i], "eval $/small", 0, "accuracy");
    }
    free(want);
}

static void a_hard_limit_of_the_stack_is_named(void **state)
{
    (void)state;
    if (system("ulimit -s 100; ulimit -Hs 8192 2>/dev/null") == 0) skip(); /* who may raise it has none */
    put("job.yaml", small);
    under("ulimit -s 72;", "train $/job.yaml --out $/small", 2,
          "the stack may have 72 KiB (ulimit -s), and 512 are needed");
    under("ulimit -s 100;", "devices", 2, "the stack may have 100 KiB");
    under("ulimit -s 400;", "eval $/plain", 2, "ulimit -s 8192");
}

/* ---- file systems and kernels that lack a call ---- */

/* The program where a system call fails with a number of errno's, and a second one too. */
static void without(long call, int problem, long second, int second_problem, const char *arguments, int code,
                    const char *words)
{
    const pid_t child = fork();
    int status;
    if (child == 0) {
        struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)problem),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)second, 0, 1),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)second_problem),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(77);
        char *line = in_folder(arguments), *text;
        tutti_strbuf both = {0};
        int got;
        tutti_strbuf_printf(&both, "%s 2>&1", line);
        text = command_run(both.text, &got);
        if (got == code && strstr(text, words)) _exit(0);
        fprintf(stderr, "call %ld fails with %d: exit code %d, expected %d and \"%s\"\n%s", call, problem, got, code,
                words, text);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 77) skip();
    assert_int_equal(status, 0);
}

static void a_folder_without_locks_takes_a_run_and_says_so(void **state)
{
    (void)state;
    static const int numbers[] = {EINVAL, ENOTTY, EPROTONOSUPPORT, ENOLCK};
    put("job.yaml", small);
    char *want = end_of("train $/job.yaml --out $/plain --fresh");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        without(SYS_flock, numbers[i], -1, 0, "train $/job.yaml --out $/unlocked --fresh", 0,
                "two runs in this folder would not be kept apart");
        without(SYS_flock, numbers[i], -1, 0, "train $/job.yaml --ranks 2 --out $/unlocked2 --fresh", 0,
                "has no locks (");
        without(SYS_flock, numbers[i], -1, 0, "train $/job.yaml --out $/unlocked --fresh", 0, want);
    }
    without(SYS_flock, EIO, -1, 0, "train $/job.yaml --out $/unlocked", 1, "lock: cannot lock: Input/output error");
    free(want);
}

static void a_lock_is_told_with_the_number_that_is_there(void **state)
{
    (void)state;
    put("job.yaml", small);
    check("train $/job.yaml --out $/held --fresh", 0, "");
    char *path = in_folder("$/held/lock");
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0 && ftruncate(fd, 0) == 0);
    check("train $/job.yaml --out $/held", 2, "is in use by another run: wait for its end");
    assert_int_equal(write(fd, "4711\n", 5), 5);
    check("train $/job.yaml --out $/held", 2, "is in use by another run (pid 4711): wait for its end");
    close(fd);
    free(path);
}

static void files_are_written_where_nothing_can_be_synced(void **state)
{
    (void)state;
    static const int numbers[] = {EINVAL, EOPNOTSUPP, ENOSYS, EROFS};
    put("job.yaml", small);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        without(SYS_fsync, numbers[i], -1, 0, "train $/job.yaml --out $/unsynced --fresh", 0, "weights ");
        check("ckpt verify $/unsynced", 0, "");
    }
    without(SYS_fsync, EIO, -1, 0, "train $/job.yaml --out $/unsynced --fresh", 1, "cannot sync");
}

static void ranks_share_memory_where_pages_cannot_be_had_before(void **state)
{
    (void)state;
    static const int numbers[][2] = {{ENOSYS, EOPNOTSUPP}, {EINVAL, ENOSYS}, {EPERM, EPERM}};
    put("job.yaml", small);
    char *want = end_of("train $/job.yaml --ranks 2 --out $/plain --fresh");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        without(SYS_madvise, numbers[i][0], SYS_fallocate, numbers[i][1],
                "train $/job.yaml --ranks 2 --out $/shared --fresh", 0, want);
    free(want);
}

int main(void)
{
    unsetenv("LD_PRELOAD"); /* ./dev test leaves calls of fsync out by it, and some here must fail */
    const struct CMUnitTest tests[] = {cmocka_unit_test(openmps_settings_do_not_change_a_number),
                                       cmocka_unit_test(a_limit_of_openmps_is_named_before_the_first_step),
                                       cmocka_unit_test(threads_that_the_system_does_not_give_are_named),
                                       cmocka_unit_test(a_soft_limit_of_the_stack_is_raised),
                                       cmocka_unit_test(a_hard_limit_of_the_stack_is_named),
                                       cmocka_unit_test(a_folder_without_locks_takes_a_run_and_says_so),
                                       cmocka_unit_test(a_lock_is_told_with_the_number_that_is_there),
                                       cmocka_unit_test(files_are_written_where_nothing_can_be_synced),
                                       cmocka_unit_test(ranks_share_memory_where_pages_cannot_be_had_before)};
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
