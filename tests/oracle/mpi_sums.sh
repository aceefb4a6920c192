#!/usr/bin/env bash
# mpi_sums.sh ROOT LIBRARY_FOLDER: builds mpi_sums.c against libtutti with Open MPI's compiler and compares sums at 2, 3, 4 and 8 ranks,
# over shared memory and, at 3, over UCX; at 8 by those whose shape differs
# from that at 4. Exit 77: no Open MPI here.
set -euo pipefail
root=$1 library=$2
mpicc=$(command -v mpicc.openmpi) && mpirun=$(command -v mpirun.openmpi) || { echo "skipped: no Open MPI (./dev setup --test)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$mpicc" -std=c17 -O2 -Wall -Wextra -Werror -o "$folder/mpi_sums" "$root/tests/oracle/mpi_sums.c" "-I$root/include" "-L$library" -ltutti -lm \
    "-Wl,-rpath,$library"
run() { # RANKS ALGORITHM...
    local ranks=$1; shift
    "$mpirun" $([ "$(id -u)" = 0 ] && echo --allow-run-as-root) --oversubscribe -n "$ranks" "$folder/mpi_sums" "$@"
}
any=(direct one-shot two-shot ring halving-doubling recursive-doubling binomial k-nomial double-tree binary-blocks bruck hierarchical split-rail torus)
for ranks in 2 4; do run $ranks "${any[@]}" swing; done
run 3 "${any[@]}"
run 8 hierarchical torus double-tree swing # Open MPI's ranks wait without sleeping: eight of all take as long as the rest
echo "over UCX:"
TUTTI_WIRE=ucx run 3 "${any[@]}" || { [ $? = 5 ] && echo "this build has no UCX"; }
