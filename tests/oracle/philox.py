# SPDX-License-Identifier: Apache-2.0
"""philox.py: tutti's random numbers once more, in numpy: Philox4x32-10 (Salmon et al., SC'11) and what is drawn from
it.

Written beside rng.c, not from it: start weights, order of samples and dropout masks of the golden runs come from here,
so a slip in either shows. Needs numpy, and for start weights xxhash."""
import numpy

STREAM_INIT, STREAM_ORDER, STREAM_DROPOUT = 1, 2, 3
MASK64 = (1 << 64) - 1


def philox4x32(key: int, counter: numpy.ndarray) -> numpy.ndarray:
    """counter: (n, 4) words; returns (n, 4) words."""
    c = counter.astype("u8").copy()
    k0, k1 = key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF
    mask = numpy.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = c[:, 0] * numpy.uint64(0xD2511F53), c[:, 2] * numpy.uint64(0xCD9E8D57)
        c = numpy.stack([(p1 >> numpy.uint64(32)) ^ c[:, 1] ^ numpy.uint64(k0), p1 & mask,
                         (p0 >> numpy.uint64(32)) ^ c[:, 3] ^ numpy.uint64(k1), p0 & mask], 1)
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c.astype("u4")


def words(seed: int, stream: int, a, b) -> numpy.ndarray:
    """(n, 4) words for each pair (a, b); a and b broadcast."""
    a, b = numpy.broadcast_arrays(numpy.asarray(a, "u8"), numpy.asarray(b, "u8"))
    low, high = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)
    counter = numpy.stack([a & low, a >> high, b & low, b >> high], -1).reshape(-1, 4)
    return philox4x32((seed + stream * 0x9E3779B97F4A7C15) & MASK64, counter)


def unit(w: numpy.ndarray) -> numpy.ndarray:
    return (w >> numpy.uint32(8)).astype("f4") * numpy.float32(2.0**-24)


def key_of(name: str) -> int:
    import xxhash
    return xxhash.xxh3_64_intdigest(name.encode())


def start_weights(seed: int, name: str, count: int, bound: float) -> numpy.ndarray:
    key = key_of(name)
    drawn = unit(words(seed, STREAM_INIT, key, numpy.arange((count + 3) // 4)).reshape(-1)[:count])
    return (bound * (2.0 * drawn.astype("f8") - 1.0)).astype("f4")


def start_normal(seed: int, name: str, count: int, deviation: float) -> numpy.ndarray:
    key = key_of(name)
    w = words(seed, STREAM_INIT, key, numpy.arange((count + 1) // 2)).astype("f8")
    radius, angle = numpy.sqrt(-2.0 * numpy.log((w[:, 0] + 1.0) * 2.0**-32)), 2.0 * numpy.pi * w[:, 1] * 2.0**-32
    pairs = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle)], 1).astype("f4")
    return (deviation * pairs.reshape(-1)[:count].astype("f8")).astype("f4")


def mixed(v: int) -> int:
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    v = (v ^ v >> 27) * 0x94D049BB133111EB & MASK64
    return v ^ v >> 31


def order(seed: int, epoch: int, count: int) -> list[int]:
    """The permutation of an epoch: an eight-round Feistel network, walked until it lands below count."""
    w = words(seed, STREAM_ORDER, epoch, numpy.arange(0, 8, 2)).astype("u8")
    keys = [int(k) for row in w for k in (int(row[0]) << 32 | int(row[1]), int(row[2]) << 32 | int(row[3]))]
    bits = max(count - 1, 1).bit_length()
    low = bits // 2

    def once(v: int) -> int:
        left, right = v >> low, v & ((1 << low) - 1)
        for i, key in enumerate(keys):
            if i % 2:
                right ^= mixed(left ^ key) & ((1 << low) - 1)
            else:
                left ^= mixed(right ^ key) & ((1 << (bits - low)) - 1)
        return left << low | right

    result = []
    for position in range(count):
        v = once(position)
        while v >= count:
            v = once(v)
        result.append(v)
    return result


def dropout_mask(seed: int, step: int, first_sample: int, layer: int, shape: tuple, rate: float) -> numpy.ndarray:
    per_sample = int(numpy.prod(shape[1:]))
    sample = (first_sample + numpy.arange(shape[0], dtype="u8"))[:, None] << numpy.uint64(28)
    drawn = words(seed, STREAM_DROPOUT, layer << 44 | step, sample | numpy.arange((per_sample + 3) // 4, dtype="u8"))
    alive = unit(drawn.reshape(shape[0], -1)[:, :per_sample]) >= numpy.float32(rate)
    return alive.reshape(shape)
