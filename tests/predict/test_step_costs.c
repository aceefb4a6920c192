/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_costs.c: messages cost what formulas done by hand say: parameter servers on stars and clusters, a ring. */
#include "testing.h"

#include "predict/step_costs.h"

static void servers_cost_what_their_formula_says(void **state)
{
    (void)state;
    tutti_topology star, cluster;
    tutti_step_exchange x;
    tutti_step_costs c;
    assert_int_equal(tutti_topology_parse("star,bw=1GB,lat=10us,soft=1us,add=1GB,incast=0", &star, NULL), TUTTI_OK);
    assert_int_equal(tutti_topology_parse("cluster,hosts=4,ranks=2,nics=1,nic=1GB,lat=10us,soft=1us,add=1GB,incast=0",
                                          &cluster, NULL),
                     TUTTI_OK);
    assert_int_equal(tutti_step_exchange_read("ps:2", &x, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_costs_of(&x, &star, 8, 1000, 64000, &c, NULL), TUTTI_OK);
    /* each way 10 us, 8 messages at a server, 4 n through its link; 7 n / 2 added */
    assert_int_equal(c.cost.ns[0], 2 * (10000 + 8000 + 4000) + 3500);
    assert_int_equal(c.cost.ns[c.cost.npoints - 1], 2 * (10000 + 8000 + 4 * 64000) + 7 * 32000);
    assert_int_equal(tutti_step_exchange_read("ps", &x, NULL), TUTTI_OK); /* as many as hosts with ranks */
    assert_int_equal(tutti_step_costs_of(&x, &star, 8, 8000, 8000, &c, NULL), TUTTI_OK);
    assert_int_equal(c.cost.ns[0], 2 * (10000 + 8000 + 8000) + 7000);
    assert_int_equal(tutti_step_costs_of(&x, &cluster, 8, 8000, 8000, &c, NULL), TUTTI_OK);
    assert_int_equal(c.cost.ns[0], 2 * (10000 + 8000 + 16000) + 14000);
    assert_int_equal(tutti_topology_parse("star,bw=1GB,lat=10us,soft=1us,add=1GB,incast=0.5", &star, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_exchange_read("ps:2", &x, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_costs_of(&x, &star, 8, 1000, 1000, &c, NULL), TUTTI_OK);
    /* at a server 8 senders: 4.5 times as long; at a rank 2: 1.5 times, less than a server sends */
    assert_int_equal(c.cost.ns[0], 2 * 18000 + 18000 + 4000 + 3500);
    assert_int_equal(tutti_topology_parse("torus,x=4,y=2", &star, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_costs_of(&x, &star, 8, 8000, 8000, &c, NULL), TUTTI_ERR_USAGE);
}

static void an_allreduce_costs_what_its_closed_form_says(void **state)
{
    (void)state;
    tutti_topology star;
    tutti_step_exchange x;
    tutti_step_costs c;
    assert_int_equal(tutti_topology_parse("star,bw=1GB,lat=10us,soft=0s,add=1GB,incast=0", &star, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_exchange_read("allreduce:ring", &x, NULL), TUTTI_OK);
    assert_int_equal(tutti_step_costs_of(&x, &star, 4, 4000, 4000000, &c, NULL), TUTTI_OK);
    for (int i = 0; i < c.cost.npoints; i++) /* 6 steps, 6/4 n over a link, 3/4 n added */
        assert_int_equal(c.cost.ns[i], 60000 + c.cost.bytes[i] * 3 / 2 + c.cost.bytes[i] * 3 / 4);
    assert_string_equal(c.whole, "ring");
    assert_int_equal(tutti_step_exchange_read("allreduce:rnig", &x, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_step_exchange_read("ps:0", &x, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_step_exchange_read("ps:2x", &x, NULL), TUTTI_ERR_USAGE);
    assert_int_equal(tutti_step_exchange_read("gossip", &x, NULL), TUTTI_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_cost_what_their_formula_says),
        cmocka_unit_test(an_allreduce_costs_what_its_closed_form_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
