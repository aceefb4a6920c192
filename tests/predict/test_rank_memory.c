/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a rank against the plan's own memories and, of exchanges, what the executor lays out. */
#include "testing.h"

#include <string.h>

#include "collective/exchange/executor_impl.h"
#include "predict/parsed.h"
#include "predict/profile/profile.h"

static const char job_text[] = "model: lenet\nbatch: 8\nsteps: 10\nkernels: reference\n"
                               "optimiser: {rule: momentum, lr: 0.1}\n";

static tutti_resolved resolved(const char *override, int nranks, const int32_t *host_of)
{
    tutti_job *job = parse_job(job_text, override);
    tutti_resolved r = {0};
    tutti_failure err = {0};
    if (tutti_job_resolve(job, &(tutti_job_seat){.nranks = nranks, .host_of = host_of}, &r, &err))
        fail_msg("%s", err.text);
    tutti_job_destroy(job);
    return r;
}

static void roles_are_counted_once_each(void **state)
{
    (void)state;
    tutti_resolved r = resolved(NULL, 1, NULL);
    const tutti_rank_memory m = tutti_rank_memory_of(r.plan);
    int64_t all = 0;
    for (int i = 0; i < r.plan->nmemories; i++)
        all += r.plan->memories[i].role == TUTTI_ROLE_ACTIVATIONS ? r.plan->arena_bytes
                                                                  : tutti_plan_memory_bytes(&r.plan->memories[i]);
    assert_int_equal(m.weights, r.plan->nweights * 4);
    assert_int_equal(m.gradients, r.plan->total * 4);
    assert_int_equal(m.states, r.plan->total * 4); /* momentum */
    assert_true(m.activations >= r.plan->arena_bytes && m.activations < r.plan->arena_bytes + 4096);
    assert_int_equal(m.all, all + m.exchange);
    assert_int_equal(m.all, m.weights + m.gradients + m.states + m.activations + m.exchange);
    tutti_resolved_release(&r);
}

/* Of all exchanges together: what the executor would take, without its counters and its list of buffers. */
static int64_t executor_bytes(const tutti_plan *p)
{
    int64_t bytes = 0;
    for (int i = 0; i < p->nexchanges; i++) {
        const tutti_plan_exchange *x = &p->exchanges[i];
        const size_t each = tutti_dtype_bytes(x->sent ? x->sent : p->memories[x->in.memory].type);
        const tutti_vector v = {.n = x->count, .bytes = each, .sent_bytes = each, .taken_bytes = each};
        tutti_part part, none = {0};
        tutti_schedule_part(p->schedules[x->schedule].lowered, tutti_plan_place(x, p->config.rank), &part);
        none.nbuffers = 0;
        bytes +=
            (int64_t)(tutti_exchange_own_bytes(&part, x->nmembers, 1, &v, false) -
                      tutti_exchange_own_bytes(&none, x->nmembers, 1, &v, false) - tutti_buffers_bytes(part.nbuffers));
        tutti_part_release(&part);
    }
    return bytes;
}

static void exchanges_take_what_the_executor_lays_out(void **state)
{
    (void)state;
    static const int32_t apart[] = {0, 1, 2, 3};
    static const char *const overrides[] = {NULL, "exchange.algorithm=ring", "exchange.algorithm=halving-doubling",
                                            "exchange.precision=bf16", "exchange.buckets=one"};
    int64_t most = 0;
    for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++)
        for (int far = 0; far <= 1; far++) {
            tutti_resolved r = resolved(overrides[i], 4, far ? apart : NULL);
            const tutti_rank_memory m = tutti_rank_memory_of(r.plan);
            assert_int_equal(m.exchange, executor_bytes(r.plan));
            assert_int_equal(m.exchange % 64, 0);
            most = m.exchange > most ? m.exchange : most;
            tutti_resolved_release(&r);
        }
    assert_true(most > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_are_counted_once_each),
        cmocka_unit_test(exchanges_take_what_the_executor_lays_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
