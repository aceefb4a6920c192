#!/usr/bin/env bash
# outside_example.sh SOURCE BUILD: installs into an empty folder, builds the example outside the tree against that, once through
# CMake and once through pkg-config, and runs both. Fails if anything is missing from the installation.
set -euo pipefail
. "$(dirname "$0")/installed.sh"
example prove-a-ring
"$work/prove-a-ring/build/prove_a_ring" 5
pc=$(dirname "$(find "$work/prefix" -name tutti.pc)")
# shellcheck disable=SC2046
cc -o "$work/by_pkg_config" "$work/prove-a-ring/prove_a_ring.c" $(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs tutti) \
    -Wl,-rpath,"$work/prefix/lib"
LD_LIBRARY_PATH=$work/prefix/lib "$work/by_pkg_config" 3
"$work/prefix/bin/tutti" --version
for header in "$work"/prefix/include/tutti/*.h; do # each header stands alone, in C and in C++
    echo "#include <tutti/$(basename "$header")>" >"$work/one.c"
    cc -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$work/prefix/include" "$work/one.c"
done
