/* SPDX-License-Identifier: Apache-2.0 */
/* NVLink and PCIe as one schedule with channels of two kinds: routes of even channels keep to NVLinks, those of odd
 * ones to PCIe; large vectors end sooner than over NVLinks alone by what PCIe carries beside them, in rounds and
 * played. */
#include "testing.h"

#include <stdio.h>

#include "collective/pack/packers.h"
#include "collective/simulate/events/events.h"
#include "collective/simulate/simulate.h"
#include "topology/parsed_topology.h"
#include "tutti/compile.h"

static void channels_keep_to_their_wires(void **state)
{
    (void)state;
    tutti_topology t = parsed("dgx1v,wires=split");
    const tutti_topology nvlink = parsed("dgx1v,wires=nvlink"), pcie = parsed("dgx1v,wires=pcie");
    int32_t links[TUTTI_MAX_HOPS], alone[TUTTI_MAX_HOPS];
    for (int32_t src = 0; src < 8; src++)
        for (int32_t dst = 0; dst < 8; dst++) {
            if (src == dst) continue;
            const int even = tutti_topology_route(&t, src, dst, 2, links);
            assert_int_equal(even,
                             tutti_topology_route(&nvlink, src, dst, 0, alone)); /* links have other numbers there */
            for (int h = 0; h < even; h++) {
                const tutti_link a = tutti_topology_link(&t, 8, links[h]),
                                 b = tutti_topology_link(&nvlink, 8, alone[h]);
                assert_true(a.src == b.src && a.dst == b.dst && a.bytes_per_s == b.bytes_per_s);
                assert_true(a.src < 8 && a.dst < 8);
            }
            const int odd = tutti_topology_route(&t, src, dst, 1, links);
            assert_int_equal(odd, tutti_topology_route(&pcie, src, dst, 0, alone));
            for (int h = 0; h < odd; h++) assert_int_equal(links[h], alone[h]);
        }
}

static double simulated(const tutti_topology *t, int32_t p, int64_t n, bool played)
{
    const tutti_compile_request request = {.collective = TUTTI_ALLREDUCE, .nranks = p, .in_place = true, .topology = t};
    tutti_schedule *s = NULL;
    tutti_simulation sim;
    tutti_failure err = {0};
    double seconds;
    if (tutti_schedule_compile("trees,chunks=64,loss=0", &request, &s, &err)) fail_msg("%s", err.text);
    if (tutti_simulate_schedule(s, t, n, &sim, &err) ||
        tutti_events_run(&(tutti_playing){s, t, n}, NULL, &seconds, NULL, &err))
        fail_msg("%s", err.text);
    tutti_schedule_destroy(s);
    return played ? seconds : sim.seconds;
}

static void both_together_end_sooner_by_what_pcie_carries(void **state)
{
    (void)state;
    static const struct {
        const char *gpus;
        int32_t p;
    } cases[] = {{"0.1.2.3.4.5.6.7", 8}, {"0.1.4", 3}, {"0.1.2.4", 4}, {"1.2.3.5.6", 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2][120];
        snprintf(text[0], sizeof text[0], "dgx1v,wires=nvlink,soft=0s,add=10TB,gpus=%s", cases[i].gpus);
        snprintf(text[1], sizeof text[1], "dgx1v,wires=split,soft=0s,add=10TB,gpus=%s", cases[i].gpus);
        const tutti_topology alone = parsed(text[0]), both = parsed(text[1]);
        tutti_packing packed, chain;
        double pcie;
        assert_int_equal(
            tutti_packing_of(&alone, cases[i].p, &(tutti_packing_wish){TUTTI_PACKING_ALLREDUCE, 0, 0}, &packed, NULL),
            TUTTI_OK);
        tutti_packing_chain(&both, cases[i].p, 1, &(tutti_packing_wish){TUTTI_PACKING_ALLREDUCE, 0, 0}, &chain, &pcie);
        const double nvlink = tutti_packing_rate(&packed), least = nvlink / (nvlink + pcie);
        for (int played = 0; played < 2; played++) {
            const double one = simulated(&alone, cases[i].p, 256 << 20, played),
                         two = simulated(&both, cases[i].p, 256 << 20, played);
            print_message(
                "gpus=%s %s: NVLinks %.3f ms, with PCIe %.3f ms, %.3f times as long; PCIe has %.3f of the rate\n",
                cases[i].gpus, played ? "played" : "rounds", one * 1e3, two * 1e3, two / one, pcie / (nvlink + pcie));
            assert_true(two < one && two / one < least * 1.1); /* a chain has more stages than a tree */
            if (!played)
                assert_true(two / one > least * 0.98); /* played, trees get in each other's way, fewer bytes less so */
        }
        tutti_packing_release(&packed), tutti_packing_release(&chain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_keep_to_their_wires),
        cmocka_unit_test(both_together_end_sooner_by_what_pcie_carries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
