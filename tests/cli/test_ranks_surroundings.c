/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_surroundings.c: a machine that gives less than was asked for (threads, stack): the same numbers, or words at the start. */
#include "testing.h"

#include <sys/stat.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(openmps_settings_do_not_change_a_number),
                                       cmocka_unit_test(a_limit_of_openmps_is_named_before_the_first_step),
                                       cmocka_unit_test(threads_that_the_system_does_not_give_are_named),
                                       cmocka_unit_test(a_soft_limit_of_the_stack_is_raised),
                                       cmocka_unit_test(a_hard_limit_of_the_stack_is_named)};
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}
