#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bundle.sh ROOT BUILD: what tools/bundle.sh makes of a build starts with nothing but libc: every library that the loader takes lies in the folder,
# and a network trains from there. A folder with other things in it is not emptied; one that becomes too large is refused.
set -u
root=$(readlink -f "$1") build=$(readlink -f "$2")
dir=$(mktemp -d /tmp/tutti_bundle_XXXXXX)
trap 'rm -rf "$dir"' EXIT
failures=0

complain() {
    echo "$*"
    [ ! -e "$dir/log" ] || sed 's/^/    /' "$dir/log"
    failures=$((failures + 1))
}

# expect CODE WORDS COMMAND...: ends with the code and says the words.
expect() {
    local code=$1 words=$2 got
    shift 2
    timeout 60 "$@" >"$dir/log" 2>&1
    got=$?
    [ $got = "$code" ] || complain "exit $got, not $code: $*"
    grep -qF -- "$words" "$dir/log" || complain "does not say '$words': $*"
}

mkdir "$dir/mine"
touch "$dir/mine/letter"
expect 2 "not empty, and no bundle" "$root/tools/bundle.sh" "$build" "$dir/mine"
[ -e "$dir/mine/letter" ] || complain "a folder that is no bundle was emptied"

expect 0 " MB, of which programs" "$root/tools/bundle.sh" "$build" "$dir/bundle"
expect 0 "0.1.0" env -i PATH=/usr/bin:/bin "$dir/bundle/tutti" version
LD_TRACE_LOADED_OBJECTS=1 LD_LIBRARY_PATH=$dir/bundle/lib "$dir/bundle/bin/tutti" >"$dir/log"
awk -v lib="$dir/bundle/lib/" '$2 == "=>" && index($3, lib) != 1 && $1 !~ /^(libc|libm|libpthread|libdl|librt)\.so/ { print; bad = 1 } END { exit bad }' \
    "$dir/log" >"$dir/elsewhere" || complain "libraries from elsewhere: $(cat "$dir/elsewhere")"
grep -q "$dir/bundle/lib/libyaml" "$dir/log" || complain "the loader was not asked"

cat >"$dir/job.yaml" <<'JOB'
model: mlp
data: {set: digits, train_samples: 64, test_samples: 32}
batch: 16
steps: 6
ranks: 2
device: cpu
optimiser: {rule: momentum, lr: 0.02}
JOB
expect 0 "weights " env -i PATH=/usr/bin:/bin "$dir/bundle/tutti" train "$dir/job.yaml" --quiet --out "$dir/out"

# the older bundle gives way, and this one is too large
expect 2 "at most 1000000" "$root/tools/bundle.sh" "$build" "$dir/bundle" 1000000
exit $((failures > 0))
