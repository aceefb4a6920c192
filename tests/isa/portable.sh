#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# portable.sh: the program built without the loops of x86-64 (TUTTI_X86_LOOPS=OFF) has none of them, says that it runs the generic ones, and
# trains a network and a support vector machine to the bits that the program gives under TUTTI_ISA=generic.
# usage: portable.sh TUTTI PORTABLE
set -u
tutti=$1 portable=$2
dir=$(mktemp -d /tmp/tutti_portable_XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
complain() { echo "$*"; failures=$((failures + 1)); }

# Ends with the line that `wanted` finds in what the command says.
line() {
    local wanted=$1
    shift
    "$@" >out 2>err || complain "exit $? of $*: $(tail -n 3 err)"
    grep -E "$wanted" out || complain "no '$wanted' from $*"
}

same() { [ -n "$2" ] && [ "$2" = "$3" ] || complain "$1: '$2' by plain loops, '$3' where there are no others"; }

library=$(ldd "$tutti" | awk '$1 ~ /^libtutti[.]so/ { print $3 }')
nm "$library" | grep -q tutti_lane_avx2 || complain "no avx2 in $library: nothing to leave out"
nm "$portable" | grep -E ' tutti_.*_(avx2|avx512|amx)' && complain "$portable has those loops"
line ' generic' "$portable" coll bench --algo direct --ranks 2 --bytes 64KB --iters 2 >/dev/null

cat >job.yaml <<'END'
model: resnet20
data: {set: shapes, train_samples: 64, test_samples: 16}
batch: 8
epochs: 0.5
precision: bf16
threads: 1
optimiser: {rule: lamb, lr: 0.001}
END
want=$(TUTTI_ISA=generic line ^weights "$tutti" train job.yaml --ranks 2 --out plain)
have=$(line ^weights "$portable" train job.yaml --ranks 2 --out portable)
same "a network" "$want" "$have"

awk 'BEGIN { for (i = 0; i < 300; i++) { y = i % 3 ? 1 : -1; printf "%d", y
             for (f = 1; f < 9; f++) printf " %d:%.3f", f, y / 3 + (i * (f + 37) % 101) / 101; print "" } }' >points
ln -s "$tutti" svm-train
TUTTI_ISA=generic ./svm-train -q points want.model || complain "svm-train: exit $?"
ln -sf "$portable" svm-train
./svm-train -q points have.model || complain "svm-train: exit $?"
cmp want.model have.model || complain "a support vector machine: the models differ"
exit $((failures > 0))
