/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a machine: which figures they change, by factors that are exact, and what is refused in words. */
#include "testing.h"

#include <string.h>

#include "predict/parsed.h"
#include "predict/what_if.h"

static tutti_topology changed(const char *topology, const char *change, double *speed)
{
    tutti_topology t = parse_topology(topology);
    tutti_failure err = {0};
    *speed = 1;
    if (tutti_what_if_apply("--what-if", change, &t, speed, &err)) fail_msg("%s: %s", change, err.text);
    return t;
}

static void each_word_changes_its_figures_and_no_others(void **state)
{
    (void)state;
    const char *text = "star,bw=1GB,lat=8us,soft=4us,add=2GB";
    const tutti_topology was = parse_topology(text);
    double speed;
    tutti_topology t = changed(text, "bandwidth=2x", &speed);
    assert_true(t.figure[TUTTI_FIGURE_BANDWIDTH] == 2 * was.figure[TUTTI_FIGURE_BANDWIDTH]);
    assert_true(t.figure[TUTTI_FIGURE_LATENCY] == was.figure[TUTTI_FIGURE_LATENCY]);
    assert_true(t.figure[TUTTI_FIGURE_ADD] == was.figure[TUTTI_FIGURE_ADD] && speed == 1);
    t = changed(text, "latency=0.5x", &speed);
    assert_true(t.figure[TUTTI_FIGURE_LATENCY] == was.figure[TUTTI_FIGURE_LATENCY] / 2);
    assert_true(t.figure[TUTTI_FIGURE_SOFTWARE] == was.figure[TUTTI_FIGURE_SOFTWARE] / 2);
    assert_true(t.figure[TUTTI_FIGURE_BANDWIDTH] == was.figure[TUTTI_FIGURE_BANDWIDTH]);
    t = changed(text, "compute=4x", &speed);
    assert_true(speed == 4);
    assert_memory_equal(t.figure, was.figure, sizeof t.figure);
    t = changed(text, "soft=0.25,lat=2x", &speed);
    assert_true(t.figure[TUTTI_FIGURE_SOFTWARE] == was.figure[TUTTI_FIGURE_SOFTWARE] / 4);
    assert_true(t.figure[TUTTI_FIGURE_LATENCY] == 2 * was.figure[TUTTI_FIGURE_LATENCY]);
}

static void several_changes_multiply(void **state)
{
    (void)state;
    const char *text = "cluster,hosts=2,ranks=2,nic=10Gb";
    const tutti_topology was = parse_topology(text);
    double speed;
    const tutti_topology t = changed(text, "bandwidth=2x,nic=4x,compute=2,compute=0.25x", &speed);
    assert_true(t.figure[TUTTI_FIGURE_NIC] == 8 * was.figure[TUTTI_FIGURE_NIC]);
    assert_true(t.figure[TUTTI_FIGURE_BUS] == 2 * was.figure[TUTTI_FIGURE_BUS]);
    assert_true(speed == 0.5);
}

static void what_is_no_change_is_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *change, *wanted;
    } cases[] = {
        {"bandwidth", "'bandwidth' is not a change, such as bandwidth=2x"},
        {"", "'' is not a change"},
        {"bandwidth=2x,", "'' is not a change"},
        {"bandwith=2x", "did you mean 'bandwidth'?"},
        {"colour=2x", "there are bandwidth, latency, compute"},
        {"=2x", "cannot be changed"},
        {"nvlink=2x", "this star has no 'nvlink' above 0 to change"},
        {"bandwidth=0x", "--what-if"},
        {"bandwidth=-1x", "--what-if"},
        {"bandwidth=x", "--what-if"},
        {"bandwidth=2xx", "--what-if"},
        {"bandwidth=nan", "--what-if"},
        {"bandwidth=1e300", "--what-if"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_topology t = parse_topology("star,bw=1Gb,lat=1us");
        tutti_failure err = {0};
        double speed = 1;
        assert_int_equal(tutti_what_if_apply("--what-if", cases[i].change, &t, &speed, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].wanted)) fail_msg("%s: %s", cases[i].change, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_changes_its_figures_and_no_others),
        cmocka_unit_test(several_changes_multiply),
        cmocka_unit_test(what_is_no_change_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
