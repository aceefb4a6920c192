/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_costs.c: messages cost what formulas done by hand say: parameter servers on stars and clusters, a ring. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/simulate/simulate.h"
#include "predict/step_costs.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static tutti_topology topology_of(const char *text)
{
    tutti_topology t = {0};
    assert_int_equal(tutti_topology_parse(text, &t, NULL), TUTTI_OK);
    return t;
}

/* Of one size, in ns. */
static int64_t servers_cost(const char *text, const tutti_topology *t, int nranks, int64_t bytes)
{
    tutti_step_exchange x;
    tutti_step_costs c;
    assert_int_equal(tutti_step_exchange_read(text, &x, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_costs_of(&x, t, nranks, (tutti_message_bytes){bytes, bytes}, &c, NULL), TUTTI_OK);
    return c.cost.ns[0];
}

static void servers_cost_what_their_formula_says(void **state)
{
    (void)state;
    const tutti_topology star = topology_of("star,bw=1GB,lat=10us,soft=1us,add=1GB,incast=0");
    /* each way 10 us, 7 messages at a server, 7 n / 2 through its link; 7 n / 2 added */
    assert_int_equal(servers_cost("ps:2", &star, 8, 1000), 2 * (10000 + 7000 + 3500) + 3500);
    assert_int_equal(servers_cost("ps:2", &star, 8, 64000), 2 * (10000 + 7000 + 7 * 32000) + 7 * 32000);
    assert_int_equal(servers_cost("ps", &star, 8, 8000), 2 * (10000 + 7000 + 7000) + 7000); /* one a host */
    assert_int_equal(servers_cost("ps", &star, 8, 8000), servers_cost("allreduce:direct", &star, 8, 8000));
    /* 7 senders to a server: 4 times as long; 2 to a rank: 1.5 times, less than a server sends */
    const tutti_topology ethernet = topology_of("star,bw=1GB,lat=10us,soft=1us,add=1GB,incast=0.5");
    assert_int_equal(servers_cost("ps:2", &ethernet, 8, 1000), 2 * 17000 + 14000 + 3500 + 3500);
}

static void servers_are_a_schedule_that_runs(void **state)
{
    (void)state;
    static const char *const texts[] = {"cluster,hosts=4,ranks=2,nics=1,nic=1GB,lat=10us,soft=1us,add=1GB,incast=0",
                                        "torus,x=4,y=2", "host,cores=8"};
    static const int nservers[] = {4, 8, 1}; /* hosts */
    for (int i = 0; i < 3; i++) {
        const tutti_topology t = topology_of(texts[i]);
        const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = 8, .in_place = true, .topology = &t};
        char name[TUTTI_STEP_NAME];
        int32_t host_of[8];
        tutti_schedule *s, *lowered;
        tutti_simulation sim;
        snprintf(name, sizeof name, "ps,servers=%d", nservers[i]);
        assert_int_equal(tutti_schedule_compile(name, &q, &s, NULL), TUTTI_OK);
        tutti_topology_hosts(&t, 8, host_of);
        assert_int_equal(tutti_schedule_lower_hosts(s, host_of, &lowered, NULL), TUTTI_OK);
        const bool maps = strncmp(texts[i], "torus", 5) != 0;
        assert_int_equal(tutti_simulate_schedule(maps ? lowered : s, &t, 2000, &sim, NULL), TUTTI_OK);
        assert_int_equal(servers_cost("ps", &t, 8, 8000), llround(sim.seconds * 1e9));
        tutti_schedule_destroy(lowered);
        tutti_schedule_destroy(s);
    }
}

static void more_servers_than_ranks_are_refused(void **state)
{
    (void)state;
    const tutti_topology star = topology_of("star");
    tutti_step_exchange x;
    tutti_step_costs c;
    tutti_failure err = {0};
    assert_int_equal(tutti_step_exchange_read("ps:9", &x, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_costs_of(&x, &star, 8, (tutti_message_bytes){8000, 8000}, &c, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "9 servers among 8 ranks"));
}

static void an_allreduce_costs_what_its_closed_form_says(void **state)
{
    (void)state;
    tutti_topology star;
    tutti_step_exchange x;
    tutti_step_costs c;
    assert_int_equal(tutti_topology_parse("star,bw=1GB,lat=10us,soft=0s,add=1GB,incast=0", &star, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_exchange_read("allreduce:ring", &x, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_costs_of(&x, &star, 4, (tutti_message_bytes){4000, 4000000}, &c, NULL), TUTTI_OK);
    for (int i = 0; i < c.cost.npoints; i++) /* 6 steps, 6/4 n over a link, 3/4 n added */
        assert_int_equal(c.cost.ns[i], 60000 + c.cost.bytes[i] * 3 / 2 + c.cost.bytes[i] * 3 / 4);
    assert_string_equal(c.whole, "ring");
    assert_int_equal(tutti_step_exchange_read("allreduce:rnig", &x, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_step_exchange_read("allreduce:hierarchical,group=2", &x, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_costs_of(&x, &star, 4, (tutti_message_bytes){4000, 4000}, &c, NULL), TUTTI_OK);
    assert_string_equal(c.whole, "hierarchical,group=2"); /* at its best it has groups of one */
    assert_int_equal(tutti_step_exchange_read("allreduce:hierarchical,gruop=2", &x, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_step_exchange_read("ps:0", &x, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_step_exchange_read("ps:2x", &x, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_step_exchange_read("gossip", &x, NULL), TUTTI_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_cost_what_their_formula_says),
        cmocka_unit_test(servers_are_a_schedule_that_runs),
        cmocka_unit_test(more_servers_than_ranks_are_refused),
        cmocka_unit_test(an_allreduce_costs_what_its_closed_form_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
