#!/usr/bin/env bash
# Runs every libFuzzer program of a build made with -DTUTTI_FUZZ=ON, one after the other.
# usage: tools/fuzz_all.sh BUILD [SECONDS_EACH] [NAME...]
# What is found lies in BUILD/fuzz/findings/ and is shown; put it into tests/fuzz/corpus/<target>/ with its fix.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd) seconds=${2:-60}
root=$(cd "$(dirname "$0")/.." && pwd)
names=("${@:3}")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(cd "$build/fuzz" && ls | grep -E '^fuzz_[a-z0-9_]+$')
[ ${#names[@]} -gt 0 ] || { echo "no fuzz_* programs in $build/fuzz" >&2; exit 2; }
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
mkdir -p "$build/fuzz/findings"
# -timeout is wall time: on a busy machine 10 s were reached by inputs that take 0 ms
failed=0
for name in "${names[@]}"; do
    target=${name#fuzz_}
    grown=$build/fuzz/corpus/$target
    mkdir -p "$grown"
    seeds=("$grown" "$root/tests/must_fail")
    for folder in "$root/tests/golden/$target" "$root/tests/fuzz/corpus/$target"; do
        [ ! -d "$folder" ] || seeds+=("$folder")
    done
    log=$build/fuzz/$name.log
    if "$build/fuzz/$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=16384 \
        -artifact_prefix="$build/fuzz/findings/$target-" -print_final_stats=1 "${seeds[@]}" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "$name: $seconds s, $runs runs, no finding"
    else
        failed=1
        echo "$name: FOUND something; $log, $build/fuzz/findings"
        grep -E 'ERROR|runtime error|Test unit written|SUMMARY' "$log" | head -5
    fi
done
exit $failed
