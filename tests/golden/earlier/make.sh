#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make.sh PROGRAM: made this folder, with the program of the last commit before rules had a table (1e6389b): the checkpoint of step 6, and in
# weights.txt the last line of the same run gone on to step 12. test_ranks_earlier.c goes on with it by the program of today.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cp "$here/tiny.yaml" "$here/tiny_job.yaml" "$work"
cd "$work"
"$1" train tiny_job.yaml --out out --quiet
rm -rf "$here/checkpoints"
cp -r out/checkpoints "$here/checkpoints"
"$1" train tiny_job.yaml --out out --quiet --set steps=12 >"$here/weights.txt"
rm -r "$work"
