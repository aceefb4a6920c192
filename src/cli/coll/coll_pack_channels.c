/* SPDX-License-Identifier: Apache-2.0 */
/* coll_pack_channels.c: `tutti coll pack dgx1v --channels B`: NVLinks and PCIe together, how the bytes are divided (after
 * Blink). From the rates of the packings, with a set-up; as one schedule, without: trees on wires=split. */
#include <stdio.h>

#include "../../base/clock.h"
#include "../../collective/pack/channels.h"
#include "coll_pack.h"

/* The rate of the exact packing over one kind of links; 0: they do not join the GPUs. */
static tutti_status channel_rate(const tutti_topology *machine, tutti_wires wires, const tutti_pack_question *q,
                                 double *rate, tutti_failure *err)
{
    tutti_topology t = *machine;
    tutti_network g;
    tutti_packing p;
    t.figure[TUTTI_FIGURE_WIRES] = wires;
    *rate = 0;
    tutti_status st = tutti_network_of(&t, tutti_topology_nseats(&t, 0), wires == TUTTI_WIRES_NVLINK, &g, err);
    if (st != TUTTI_OK) return st;
    if (tutti_network_connected(&g)) {
        st = tutti_packing_exact(&g, q->use, q->root, &p, err);
        if (st == TUTTI_OK) {
            *rate = tutti_packing_rate(&p);
            tutti_packing_release(&p);
        }
    }
    tutti_network_release(&g);
    return st;
}

tutti_status tutti_coll_pack_channels(const tutti_topology *machine, const tutti_pack_question *q, double bytes,
                                      double setup_s, tutti_failure *err)
{
    static const char *const names[] = {"NVLink", "PCIe"};
    static const tutti_wires wires[] = {TUTTI_WIRES_NVLINK, TUTTI_WIRES_PCIE};
    tutti_pack_channel channels[2];
    double carried[2];
    if (machine->kind != TUTTI_TOPOLOGY_DGX1P && machine->kind != TUTTI_TOPOLOGY_DGX1V)
        return tutti_fail(err, TUTTI_ERR_USAGE, "--channels: dgx1p and dgx1v have NVLinks and PCIe");
    for (int i = 0; i < 2; i++) {
        channels[i].setup_s = i ? setup_s : 0;
        tutti_status st = channel_rate(machine, wires[i], q, &channels[i].rate, err);
        if (st != TUTTI_OK) return st;
    }
    if (channels[0].rate <= 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "NVLinks do not join these GPUs: PCIe alone carries everything");
    double together = tutti_channels_fill(channels, 2, bytes, carried);
    printf("%s of %.6g bytes, rates of exact packings:\n", tutti_packing_use_name(q->use), bytes);
    for (int i = 0; i < 2; i++)
        printf("  %-7s %8.4g GB/s after %8s: %12.0f bytes (%4.1f %%); alone %10s\n", names[i], channels[i].rate / 1e9,
               tutti_time_words(channels[i].setup_s).text, carried[i], bytes > 0 ? 100 * carried[i] / bytes : 0,
               tutti_time_words(channels[i].setup_s + bytes / channels[i].rate).text);
    printf("  together %s\n", tutti_time_words(together).text);
    return TUTTI_OK;
}
