# SPDX-License-Identifier: Apache-2.0
"""philox.py: tutti's counter-based random numbers once more, from the paper (Salmon et al., SC'11), in numpy.

Written from docs and header, not from rng.c: start weights, order of samples and dropout masks of the golden runs come
from here, so a slip in either shows."""
import numpy

STREAM_INIT, STREAM_ORDER, STREAM_DROPOUT = 1, 2, 3


def philox4x32(key: int, counter: numpy.ndarray) -> numpy.ndarray:
    """counter: (n, 4) words; returns (n, 4) words. Ten rounds."""
    c = counter.astype("u8").copy()
    k0, k1 = key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF
    mask = numpy.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = c[:, 0] * numpy.uint64(0xD2511F53), c[:, 2] * numpy.uint64(0xCD9E8D57)
        c = numpy.stack([(p1 >> numpy.uint64(32)) ^ c[:, 1] ^ numpy.uint64(k0), p1 & mask,
                         (p0 >> numpy.uint64(32)) ^ c[:, 3] ^ numpy.uint64(k1), p0 & mask], 1)
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c.astype("u4")
