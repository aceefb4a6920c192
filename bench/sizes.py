# SPDX-License-Identifier: Apache-2.0
"""sizes.py: bytes as the flags of benchmarks give them."""
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "": 1}


def in_bytes(text: str) -> int:
    number = text.rstrip("KMGiB")
    return int(float(number) * UNITS[text[len(number):]])
