# SPDX-License-Identifier: Apache-2.0
"""make_digits32.py LIBTUTTI OUT: writes the first 32 drawn digits (seed 1) as IDX files, the data set of the golden
runs. The same files serve as training and as test set."""
import ctypes
import gzip
import pathlib
import struct
import sys


class Config(ctypes.Structure):
    _fields_ = [("set", ctypes.c_char_p), ("path", ctypes.c_char_p), ("seed", ctypes.c_uint64),
                ("train_samples", ctypes.c_int64), ("test_samples", ctypes.c_int64)]


def main() -> None:
    lib, out = ctypes.CDLL(sys.argv[1]), pathlib.Path(sys.argv[2])
    lib.tutti_dataset_bytes.restype = ctypes.POINTER(ctypes.c_uint8 * 784)
    lib.tutti_dataset_bytes.argtypes = lib.tutti_dataset_read.argtypes = None
    data, failure = ctypes.c_void_p(), ctypes.create_string_buffer(2048)
    config = Config(b"digits", None, 1, 32, 32)
    if lib.tutti_dataset_open(ctypes.byref(config), 0, ctypes.byref(data), failure):
        raise SystemExit(failure.raw[4:].split(b"\0")[0].decode())
    images, labels, sample = b"", b"", (ctypes.c_float * 784)()
    for i in range(32):
        label = ctypes.c_int32()
        lib.tutti_dataset_read(data, ctypes.c_int64(i), sample, ctypes.byref(label))
        images += bytes(lib.tutti_dataset_bytes(data, ctypes.c_int64(i)).contents)
        labels += bytes([label.value])
    out.mkdir(parents=True, exist_ok=True)
    for stem in ("train", "t10k"):
        for name, head, body in (("images-idx3", struct.pack(">4I", 0x803, 32, 28, 28), images),
                                 ("labels-idx1", struct.pack(">2I", 0x801, 32), labels)):
            (out / f"{stem}-{name}-ubyte.gz").write_bytes(gzip.compress(head + body, mtime=0))


if __name__ == "__main__":
    main()
