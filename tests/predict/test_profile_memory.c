/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_memory.c: kernels are timed in the memory of a training step, and not at all where there is less. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/resolve.h"
#include "predict/parsed.h"
#include "predict/profile/profile.h"

static const char job_text[] = "model: resnet20\nbatch: 64\nsteps: 10\noptimiser: {lr: 0.1}\n";

static tutti_resolved resolved(tutti_job **job)
{
    tutti_resolved r = {0};
    tutti_failure err = {0};
    *job = parse_job(job_text, NULL);
    if (tutti_job_resolve(*job, &(tutti_job_seat){.nranks = 1}, &r, &err)) fail_msg("%s", err.text);
    return r;
}

static void it_is_what_the_plan_says(void **state)
{
    (void)state;
    tutti_job *job;
    tutti_resolved r = resolved(&job);
    const int64_t own = tutti_profile_bytes(r.graph), input = 64 * 3 * 32 * 32 * 4, params = r.plan->nweights * 4;
    assert_true(own >= r.plan->arena_bytes && own <= r.plan->arena_bytes + 3 * params + 4 * input);
    assert_true(own < r.plan->arena_bytes_without_sharing / 2); /* what it took when each layer had its own */
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
}

/* What has been touched at most grows by no more; a child, because such marks never fall. */
static void the_peak_is_that_of_a_step(void **state)
{
    (void)state;
    tutti_job *job;
    tutti_resolved r = resolved(&job);
    const pid_t child = fork();
    if (child == 0) {
        struct rusage before, after;
        tutti_profile p = {0};
        getrusage(RUSAGE_SELF, &before);
        if (tutti_profile_measure(&r.graph, 1, &p, NULL)) _exit(1);
        getrusage(RUSAGE_SELF, &after);
        const double grown = 1024. * (double)(after.ru_maxrss - before.ru_maxrss);
        _exit(grown < 1.3 * (double)tutti_profile_bytes(r.graph) + (48 << 20) ? 0 : 2); /* engines keep some, too */
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
}

static void less_is_refused_in_words(void **state)
{
    (void)state;
    if (TESTING_SANITIZED) skip();
    tutti_job *job;
    tutti_resolved r = resolved(&job);
    int words[2];
    char text[1000] = "";
    assert_int_equal(pipe(words), 0);
    const pid_t child = fork();
    if (child == 0) {
        tutti_profile p = {0};
        tutti_failure err = {0};
        const rlim_t most = 512 << 20; /* of addresses: the program itself has more or less */
        struct rlimit limit = {most, most};
        setrlimit(RLIMIT_AS, &limit);
        tutti_graph *many[8];
        for (int i = 0; i < 8; i++) many[i] = r.graph;
        const tutti_status st = tutti_profile_measure(many, 8, &p, &err);
        (void)!write(words[1], err.text, strlen(err.text));
        _exit(st == TUTTI_ERR_FAILED ? 0 : 1);
    }
    int status = 0;
    close(words[1]);
    (void)!read(words[0], text, sizeof text - 1);
    close(words[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_non_null(strstr(text, "resnet20 with 64 samples, 8 at a time"));
    assert_non_null(strstr(text, "MB of memory are needed and"));
    assert_non_null(strstr(text, "--trace"));
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_the_plan_says),
        cmocka_unit_test(the_peak_is_that_of_a_step),
        cmocka_unit_test(less_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
