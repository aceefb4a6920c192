/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c: water-filling. With the channels that have begun by T, T = (bytes + sum rate setup) / sum rate; the set of those
 * grows in the order of their set-up until no further one begins before T. */
#include <math.h>

#include "channels.h"

/* T if the channels that begin up to `latest` carry everything. */
static double ends(const tutti_pack_channel *c, int32_t n, double bytes, double latest)
{
    double rate = 0, paid = bytes;
    for (int32_t i = 0; i < n; i++)
        if (c[i].setup_s <= latest) rate += c[i].rate, paid += c[i].rate * c[i].setup_s;
    return paid / rate;
}

double tutti_channels_fill(const tutti_pack_channel *channels, int32_t nchannels, double bytes, double *carried)
{
    double latest = -1, end = INFINITY;
    for (int32_t turn = 0; turn < nchannels; turn++) {
        double next = INFINITY;
        for (int32_t i = 0; i < nchannels; i++)
            if (channels[i].setup_s > latest) next = fmin(next, channels[i].setup_s);
        if (!(next < end)) break;
        latest = next;
        end = ends(channels, nchannels, bytes, latest);
    }
    for (int32_t i = 0; i < nchannels; i++) carried[i] = fmax(0, end - channels[i].setup_s) * channels[i].rate;
    return bytes > 0 ? end : 0;
}
