#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wanted_libraries.sh: libtutti and the program are not linked with UCX or PMIx; ranks of two hosts run over plain sockets without
# touching them; who asks for one that is not there hears what to install.
# usage: wanted_libraries.sh LIBTUTTI TUTTI [SOURCES]
# SOURCES: those are of a build without the headers of both and of hwloc, and no other file of these sources wants them
set -u
library=$1 tutti=$2 sources=${3-}
dir=$(mktemp -d /tmp/tutti_wanted_XXXXXX)
trap 'rm -rf "$dir"' EXIT
failures=0
optional='lib(uc[pstm]|pmix)[^ ]*\.so'

complain() { echo "$*"; failures=$((failures + 1)); }

for file in "$library" "$tutti"; do
    ldd "$file" >"$dir/ldd"
    grep -E "$optional" "$dir/ldd" && complain "$file is linked with that"
done

# pair CODE WORDS VARIABLE=VALUE...: two ranks, each a host, end with the code; rank 0 says the words.
pair() {
    local code=$1 words=$2 got rank
    shift 2
    for rank in 1 0; do
        env RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000)) TUTTI_HOST_ID="h$rank" "$@" \
            timeout 60 "$tutti" coll bench --algo ring --bytes 64KB --iters 20 >"$dir/out$rank" 2>"$dir/err$rank" &
    done
    wait $!
    got=$?
    wait
    [ $got = "$code" ] || complain "exit $got, not $code, with $*: $(tail -n 3 "$dir/err0")"
    cat "$dir/out0" "$dir/err0" | grep -qF -- "$words" || complain "does not say '$words' with $*: $(tail -n 3 "$dir/err0")"
}

nowhere="TUTTI_UCX_LIBRARY=/nowhere/libucp.so.0"
pair 0 "Out of bounds values : 0 OK" TUTTI_WIRE=tcp LD_DEBUG=files
grep -E "file=$optional" "$dir/err0" && complain "was loaded for the wire tcp"
pair 0 "on 2 hosts over tcp (" "$nowhere"
grep -F "Out of bounds values : 0 OK" "$dir/out0" >/dev/null || complain "wrong sums without UCX"
if grep -qF "this build knows nothing of UCX" "$library"; then
    pair 5 "install libucx-dev (./dev setup) and build again" TUTTI_WIRE=ucx
else
    [ -z "$sources" ] || complain "$library knows of UCX"
    pair 5 "install libucx0, or set TUTTI_UCX_LIBRARY" TUTTI_WIRE=ucx "$nowhere"
    pair 5 "has no ucp_init_version: install another version of libucx0" TUTTI_WIRE=ucx TUTTI_UCX_LIBRARY=libz.so.1
fi

env PMIX_NAMESPACE=a PMIX_RANK=0 TUTTI_PMIX_LIBRARY=/nowhere/libpmix.so.2 "$tutti" coll bench --bytes 64KB >"$dir/out" 2>&1
got=$?
[ $got = 5 ] || complain "exit $got, not 5, without libpmix"
grep -qE "install libpmix(2|-dev)" "$dir/out" || complain "without libpmix: $(cat "$dir/out")"
if [ -n "$sources" ]; then
    grep -qF "this build does not" "$dir/out" || complain "$tutti knows of PMIx: $(cat "$dir/out")"
    grep -rlE '^ *# *include <(uc[pstm]/|pmix|hwloc)' "$sources/src" "$sources/include" |
        grep -vE '/(ucx_[^/]*|discover_pmix|detect_hwloc|partition_(impl|groups|even|machine))\.[ch]$' >"$dir/others" &&
        complain "want headers too: $(cat "$dir/others")"
    "$tutti" train "$sources/examples/mlp.yaml" --dry-run --partition 1 >"$dir/out" 2>&1
    got=$?
    [ $got = 2 ] || complain "exit $got, not 2, of a partition without hwloc"
    grep -qF "this build has no hwloc" "$dir/out" || complain "$tutti knows of hwloc: $(cat "$dir/out")"
fi

[ $failures = 0 ]
