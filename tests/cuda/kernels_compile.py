#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every kernel's text for the architectures of cards, by NVRTC alone, and prints registers and spilled bytes
of each kernel.

usage: kernels_compile.py ROOT [FOLDER]...
FOLDER: where libnvrtc.so.13 may be, before the loader's own.
exit 1: a text does not compile, or a kernel spills more than 64 bytes; 77: there is no NVRTC.
"""
import ctypes
import glob
import os
import re
import sys

ARCHS = ("80", "90", "100", "120")
FOLDERS = ("src/device/cuda", "src/kernel/cuda", "src/training/run/cuda")
MOST_SPILLED = 64


def find_nvrtc(folders):
    for place in list(folders) + ["", "/usr/local/cuda/lib64", "/usr/local/cuda/lib"]:
        try:
            nvrtc = ctypes.CDLL(os.path.join(place, "libnvrtc.so.13"))
        except OSError:
            continue
        for builtins in glob.glob(os.path.join(place, "libnvrtc-builtins.so.*")) if place else ():
            ctypes.CDLL(builtins)  # NVRTC opens them by a bare name, which works if they are open already
        return nvrtc
    return None


def compile_text(nvrtc, name, text, arch):
    """Returns the compiler's log, and whether it made anything."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(), 0, None, None)
    options = [("--gpu-architecture=sm_" + arch).encode(), b"--std=c++17", b"-default-device", b"--ptxas-options=-v",
               b"-diag-suppress=177"]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode(errors="replace"), not failed


def read_kernels(log):
    """Returns kernel -> (registers, bytes spilled)."""
    kernels, name, spilled = {}, None, 0
    for line in log.splitlines():
        found = re.search(r"(?:Compiling entry function|Function properties for) '?(\w+)", line)
        name = found.group(1) if found else name
        found = re.search(r"(\d+) bytes spill stores", line)
        spilled = int(found.group(1)) if found else spilled
        found = re.search(r"Used (\d+) registers", line)
        if found and name:
            kernels[name] = (int(found.group(1)), spilled)
    return kernels


def main():
    root, failures, table = sys.argv[1], [], {}
    nvrtc = find_nvrtc(sys.argv[2:])
    if not nvrtc:
        print("skipped: NVRTC is not here; pip install nvidia-cuda-nvrtc brings it")
        return 77
    for folder in FOLDERS:
        common = os.path.join(root, folder, "common.cu")
        before = open(common, "rb").read() + b"\n" if os.path.exists(common) else b""
        for path in sorted(glob.glob(os.path.join(root, folder, "*.cu"))):
            if path == common:
                continue
            module = os.path.basename(path)[:-3]
            for arch in ARCHS:
                log, made = compile_text(nvrtc, module, before + open(path, "rb").read(), arch)
                if not made:
                    failures.append("%s for sm_%s: %s" % (path, arch, log[:600]))
                for kernel, figures in read_kernels(log).items():
                    table.setdefault((module, kernel), {})[arch] = figures
    print("%-14s %-26s %s" % ("module", "kernel: registers, spilled", " ".join("%9s" % ("sm_" + a) for a in ARCHS)))
    for (module, kernel), figures in table.items():
        print("%-14s %-26s %s" % (module, kernel, " ".join("%4d %4d" % figures[a] if a in figures else "        -"
                                                           for a in ARCHS)))
        for arch, (_, spilled) in figures.items():
            if spilled > MOST_SPILLED:
                failures.append("%s, %s for sm_%s spills %d bytes" % (module, kernel, arch, spilled))
    if not table:
        failures.append("the compiler said nothing of registers")
    for failure in failures:
        print("FAILED " + failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
