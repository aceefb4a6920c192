/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_wild.c: the checker takes parts from anywhere: whatever numbers stand in them, it answers, and touches
 * nothing that is not there (run it with -fsanitize=address,undefined). */
#include "testing.h"

#include "collective/schedule/made.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { TRIES = 3000 };

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int32_t wild(uint64_t *state)
{
    static const int32_t odd[] = {-1, 0, 1, 2, 3, 7, 64, 1 << 14, 1 << 20, INT32_MAX, INT32_MIN, INT32_MAX - 1};
    return odd[draw(state) % (sizeof odd / sizeof *odd)];
}

/* One number of one array of one part. */
static void spoil(made *m, uint64_t *state)
{
    tutti_part *p = &m->parts[draw(state) % (uint64_t)m->head.nranks];
    const int32_t value = wild(state);
    switch (draw(state) % 6) {
    case 0:
    case 1: { /* a step is made of 32-bit numbers */
        if (!p->nsteps) break;
        int32_t *fields = (int32_t *)&p->steps[draw(state) % (uint64_t)p->nsteps];
        fields[draw(state) % (sizeof *p->steps / sizeof *fields)] = value;
        break;
    }
    case 2: {
        if (!p->nslices) break;
        int32_t *fields = (int32_t *)&p->slices[draw(state) % (uint64_t)p->nslices];
        fields[draw(state) % (sizeof *p->slices / sizeof *fields)] = value;
        break;
    }
    case 3: {
        tutti_buffer *b = &p->buffers[draw(state) % (uint64_t)p->nbuffers];
        int32_t *const fields[] = {&b->ordinal,   &b->banks, &b->window.first, &b->window.count,
                                   &b->window.of, &b->leaf,  &b->nleaves};
        *fields[draw(state) % 7] = value;
        break;
    }
    case 4:
        if (p->ndeps) p->deps[draw(state) % (uint64_t)p->ndeps] = value;
        break;
    default:
        if (p->nfolds) p->folds[draw(state) % (uint64_t)p->nfolds] = (uint8_t)value;
        break;
    }
}

static void wild_numbers_are_refused_or_proved_but_never_followed(void **state)
{
    (void)state;
    static const char *const names[] = {"direct", "one-shot", "ring", "halving-doubling"};
    int refused = 0;
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        uint64_t random = seed * 0x9e3779b97f4a7c15u;
        const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 3, .in_place = draw(&random) % 2};
        tutti_schedule *s = NULL, *lowered = NULL;
        assert_int_equal(tutti_schedule_compile(names[draw(&random) % 4], &q, &s, NULL), TUTTI_OK);
        const tutti_wire_class wire = (tutti_wire_class)(draw(&random) % TUTTI_NWIRE_CLASSES);
        if (wire == TUTTI_WIRE_MIXED)
            assert_int_equal(tutti_schedule_lower_hosts(s, (const int32_t[]){0, 1, 0}, &lowered, NULL), TUTTI_OK);
        else if (wire)
            assert_int_equal(tutti_schedule_lower(s, wire, &lowered, NULL), TUTTI_OK);
        tutti_part_source source = tutti_part_source_of(lowered ? lowered : s);
        made m = made_copy(&source);
        for (uint64_t i = 0; i <= seed % 3; i++) spoil(&m, &random);
        source = made_source(&m);
        tutti_failure err = {0};
        refused += tutti_check_source(&source, NULL, &err) != TUTTI_OK;
        made_release(&m);
        tutti_schedule_destroy(lowered);
        tutti_schedule_destroy(s);
    }
    assert_in_range(refused, TRIES / 3, TRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wild_numbers_are_refused_or_proved_but_never_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
