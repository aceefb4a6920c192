/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_queue.c: the queue of a card replays what comes again, with what varies, and nothing else. */
#include "cuda_rig.h"

typedef struct {
    const int *host; /* what the work looks at when it is given to the card, as a kernel's shape */
    char *at;
    uint32_t number;
} fill_args;

static int ngiven;

static void run_fill(const tutti_device *d, const void *args, const void *varying)
{
    const fill_args *a = args;
    ngiven++;
    tutti_cuda_fill(tutti_cuda_of(d), a->at, (uint8_t)*a->host, 4);
    tutti_cuda_move(tutti_cuda_of(d), a->at + 4, varying, sizeof a->number);
}

static const tutti_queue_work filling = {"fill", run_fill, sizeof(fill_args), offsetof(fill_args, number),
                                         sizeof(uint32_t)};

static void run(cuda_rig *r, const int *host, char *at, uint32_t number, uint32_t seen[2])
{
    fill_args args;
    memset(&args, 0, sizeof args);
    args.host = host, args.at = at, args.number = number;
    const tutti_event event = r->d->launch(r->d, &filling, &args);
    r->d->wait(r->d, event);
    r->d->look(r->d, seen, at, 8);
}

static void what_comes_again_is_replayed_with_what_varies(void **state)
{
    cuda_rig *r = *state;
    uint32_t seen[2];
    const int host = 1;
    if (!r) skip();
    char *at = rig_buffer(r, NULL, 64, 0);
    ngiven = 0;
    for (uint32_t i = 0; i < 6; i++) {
        run(r, &host, at, 100 + i, seen);
        assert_int_equal(seen[0], 0x01010101);
        assert_int_equal(seen[1], 100 + i);
    }
    assert_int_equal(ngiven, 2); /* by itself, recorded */
    rig_release(r);
}

static void what_was_made_anew_is_not_replayed(void **state)
{
    cuda_rig *r = *state;
    uint32_t seen[2];
    int host = 1;
    if (!r) skip();
    char *at = rig_buffer(r, NULL, 64, 0);
    for (uint32_t i = 0; i < 3; i++) run(r, &host, at, i, seen);
    host = 2;
    r->d->renew(r->d);
    run(r, &host, at, 7, seen);
    assert_int_equal(seen[0], 0x02020202);
    assert_int_equal(seen[1], 7);
    rig_release(r);
}

static void memory_that_was_given_back_is_not_replayed_into(void **state)
{
    cuda_rig *r = *state;
    uint32_t seen[2];
    int host = 1;
    if (!r) skip();
    char *at = rig_buffer(r, NULL, 64, 0), *other = r->d->allocate(r->d, 256);
    for (uint32_t i = 0; i < 3; i++) run(r, &host, at, i, seen);
    host = 3;
    r->d->release(r->d, other, 256);
    run(r, &host, at, 9, seen);
    assert_int_equal(seen[0], 0x03030303);
    rig_release(r);
}

static void a_look_sees_what_the_host_has_brought(void **state)
{
    cuda_rig *r = *state;
    uint32_t number = 5, seen = 0;
    if (!r) skip();
    char *at = rig_buffer(r, NULL, 64, 0);
    for (number = 5; number < 8; number++) {
        r->d->copy(r->d, &at, 1, (const char *)&number, sizeof number, false);
        r->d->look(r->d, &seen, at, sizeof seen);
        assert_int_equal(seen, number);
    }
    rig_release(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_again_is_replayed_with_what_varies),
        cmocka_unit_test(what_was_made_anew_is_not_replayed),
        cmocka_unit_test(memory_that_was_given_back_is_not_replayed_into),
        cmocka_unit_test(a_look_sees_what_the_host_has_brought),
    };
    return cmocka_run_group_tests(tests, cuda_rig_open, cuda_rig_close);
}
