/* SPDX-License-Identifier: Apache-2.0 */
/* test_transfer_threads.c: writes, signals, reads and waits between threads: every byte arrives before the word that
 * says so, whatever the order in which ranks come; bad places are refused; a word that never comes meets its
 * deadline. */
#include "testing.h"

#include "transfer_bodies.h"

static void what_was_written_has_arrived_when_the_word_has(void **state)
{
    (void)state;
    run_comms(2, 20, static_body, NULL);
    run_comms(3, 20, static_body, NULL);
}

static void a_receiver_that_is_told_where_reads_it(void **state)
{
    (void)state;
    run_comms(2, 20, dynamic_body, NULL);
}

static void bad_places_are_refused_and_waits_have_deadlines(void **state)
{
    (void)state;
    run_comms(2, 20, refused_body, NULL);
}

static void who_reads_sees_what_it_wrote_before(void **state)
{
    (void)state;
    run_comms(2, 20, echo_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_has_arrived_when_the_word_has),
        cmocka_unit_test(a_receiver_that_is_told_where_reads_it),
        cmocka_unit_test(who_reads_sees_what_it_wrote_before),
        cmocka_unit_test(bad_places_are_refused_and_waits_have_deadlines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
