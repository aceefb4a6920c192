#!/usr/bin/env bash
# Runs every libFuzzer program of a build made with -DTUTTI_FUZZ=ON, as many at a time as there are cores.
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
fuzz() { # NAME
    local name=$1 target=${1#fuzz_} folder
    local grown=$build/fuzz/corpus/$target log=$build/fuzz/$1.log
    mkdir -p "$grown"
    local seeds=("$grown" "$root/tests/must_fail")
    for folder in "$root/tests/golden/$target" "$root/tests/fuzz/corpus/$target"; do
        [ ! -d "$folder" ] || seeds+=("$folder")
    done
    if "$build/fuzz/$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=16384 \
        -artifact_prefix="$build/fuzz/findings/$target-" -print_final_stats=1 "${seeds[@]}" >"$log" 2>&1; then
        echo "$name: $seconds s, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs, no finding"
        return 0
    fi
    echo "$name: FOUND something; $log, $build/fuzz/findings"
    grep -E 'ERROR|runtime error|Test unit written|SUMMARY' "$log" | head -5
    return 1
}

failed=0 running=0
for name in "${names[@]}"; do
    [ $running -lt "$(nproc)" ] || { wait -n || failed=1; running=$((running - 1)); }
    fuzz "$name" &
    running=$((running + 1))
done
for (( ; running > 0; running--)); do wait -n || failed=1; done
exit $failed
