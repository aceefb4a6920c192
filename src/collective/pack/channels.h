/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h: one vector over several channels at once, such as NVLink trees and PCIe trees: who carries how much.
 *
 * Channel c begins after setup_s and then carries rate bytes/s. Least time T: all that carry end together, sum over c of
 * max(0, T - setup_c) rate_c = bytes: water that is poured over steps of height setup_c and width rate_c. With two channels,
 * one without set-up, this is Blink's D_pcie = D Bp / (Bp + Bn) - t Bp Bn / (Bp + Bn), 0 where that is negative.
 * Threads: shared (a pure function). */
#ifndef TUTTI_CHANNELS_H
#define TUTTI_CHANNELS_H

#include <stdint.h>

typedef struct {
    double rate;    /* bytes/s, > 0 */
    double setup_s; /* >= 0 */
} tutti_pack_channel;

/* carried[c]: bytes; their sum is `bytes`. Returns T (0 for nothing). nchannels >= 1. */
double tutti_channels_fill(const tutti_pack_channel *channels, int32_t nchannels, double bytes, double *carried);

#endif
