# SPDX-License-Identifier: Apache-2.0
"""ceilings.py CEILING PROGRAMS | --own ISA PROGRAMS | --order ORDER PROGRAMS | --emulated MAKER PROGRAMS | --say: the
tests of kernels, precisions and training again, as on a lesser processor: with the loops of our own and oneDNN's
kernels up to an instruction set; or, candidates alone, with our loops below what the library uses; or, training alone,
with activations in an order that this processor would not choose; or, with loops that this processor has not got, by
emulated instructions (tests/emulated), as on a processor of amd, which has AVX512-BF16, or intel, which has AMX
beside. Exit code 77 and a word where the processor has not got that far, or no farther: then all tests run so. --say:
which ceilings there are here."""
import os
import pathlib
import subprocess
import sys

# ceiling: TUTTI_ISA, ONEDNN_MAX_CPU_ISA, flags of /proc/cpuinfo that it takes
CEILINGS = {
    "generic": ("generic", "SSE41", set()),
    "avx2": ("avx2", "AVX2", {"avx2", "fma", "f16c"}),
    "avx512": ("avx512", "AVX512_CORE", {"avx512f", "avx512bw", "avx512vl", "avx512dq"}),
    "avx512_bf16": ("avx512", "AVX512_CORE_BF16", {"avx512_bf16"}),
    "amx": ("avx512", "AVX512_CORE_AMX", {"amx_tile", "amx_bf16"}),
}
TRAINING = ("test_train", "test_train_gate", "test_train_half", "test_plan_play")
# These tests call each row of loops by its name, so under a lesser ceiling they repeat what they did without one.
BY_ROWS = ("test_gemm", "test_gemm_large")
# These run networks of the zoo by every candidate. test_candidates_resume runs emulated with TUTTI_LONG alone: it takes
# 17 s, and test_candidates_play emulates the same candidates.
IS_LONG = bool(os.environ.get("TUTTI_LONG"))
NETWORKS = ("test_candidates_check", "test_candidates_play", *(("test_candidates_resume",) if IS_LONG else ()))


def missing(ceiling: str) -> set[str]:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    return CEILINGS[ceiling][2] - set(flags)


def there() -> list[str]:
    return [c for c in CEILINGS if not missing(c)]


def leave_out(isa: str) -> int:
    print(f"skipped: {isa} is all that this processor has: all tests ran so (a processor that has more)")
    return 77


def say() -> None:
    absent = [f"{c} (this processor has no {', '.join(sorted(missing(c)))})" for c in CEILINGS if missing(c)]
    print(f"kernel, precision and training tests ran under the ceilings {', '.join(there())}"
          + (f"; not under {'; '.join(absent)}: their loops of our own ran emulated" if absent else ""))


def run(programs: pathlib.Path, names: list[str], environment: dict[str, str]) -> int:
    failed = 0
    for name in names:
        # threads that wait let others have the cores: tests run beside each other
        environ = {**os.environ, **environment, "OMP_WAIT_POLICY": "passive"}
        done = subprocess.run([programs / name], env=environ, capture_output=True, text=True)
        print(f"{name}: {'passed' if done.returncode == 0 else f'exit code {done.returncode}'}", flush=True)
        if done.returncode:
            failed += 1
            print(done.stdout, done.stderr)
    return 1 if failed else 0


def kernel_tests() -> list[str]:
    return sorted(source.stem for source in pathlib.Path(__file__).parents[1].glob("kernel/test_*.c"))


def run_emulated(maker: str, programs: pathlib.Path) -> int:
    if missing("avx2"):
        print("skipped: instructions are emulated by AVX2, which this processor has not got (a processor that has)")
        return 77
    if not missing("avx512_bf16") and not missing("amx"):
        print("skipped: this processor has all of AVX-512, AVX512-BF16 and AMX: all tests ran so (a processor that has "
              "less)")
        return 77
    rooms = sorted(source.stem
                   for source in pathlib.Path(__file__).parents[1].glob("*/**/test_*.c")
                   if "tutti_isa_runs" in source.read_text())
    names = sorted({*kernel_tests(), *rooms, *TRAINING, *NETWORKS})
    return run(programs, names, {"TUTTI_EMULATE": maker, "LD_LIBRARY_PATH": str(programs / "emulated")})


def main() -> int:
    if sys.argv[1:] == ["--say"]:
        say()
        return 0
    if sys.argv[1] == "--order":
        return run(pathlib.Path(sys.argv[3]), list(TRAINING), {"TUTTI_ORDER": sys.argv[2]})
    if sys.argv[1] == "--own":
        if sys.argv[2] == CEILINGS[there()[-1]][0]:
            return leave_out(sys.argv[2])
        return run(pathlib.Path(sys.argv[3]), ["test_candidates"], {"TUTTI_ISA": sys.argv[2]})
    if sys.argv[1] == "--emulated":
        return run_emulated(sys.argv[2], pathlib.Path(sys.argv[3]))
    ceiling, programs = sys.argv[1], pathlib.Path(sys.argv[2])
    if missing(ceiling):
        print(f"skipped: this processor has no {', '.join(sorted(missing(ceiling)))} (a processor that has)")
        return 77
    if ceiling == there()[-1]:
        return leave_out(ceiling)
    own, library, _ = CEILINGS[ceiling]
    names = [name for name in kernel_tests() if name not in BY_ROWS]
    return run(programs, [*names, *TRAINING], {"TUTTI_ISA": own, "ONEDNN_MAX_CPU_ISA": library})


if __name__ == "__main__":
    sys.exit(main())
