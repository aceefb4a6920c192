#!/usr/bin/env bash
# outside_example.sh SOURCE BUILD: installs into an empty folder, builds the example outside the tree against that, once through
# CMake and once through pkg-config, and runs both. Fails if anything is missing from the installation.
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cp -r "$source/examples/prove-a-ring" "$work/example"
cmake -S "$work/example" -B "$work/example/build" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/example/build" >/dev/null
"$work/example/build/prove_a_ring" 5
pc=$(dirname "$(find "$work/prefix" -name tutti.pc)")
# shellcheck disable=SC2046
cc -o "$work/by_pkg_config" "$work/example/prove_a_ring.c" $(PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs tutti) \
    -Wl,-rpath,"$work/prefix/lib"
LD_LIBRARY_PATH=$work/prefix/lib "$work/by_pkg_config" 3
"$work/prefix/bin/tutti" --version
for header in "$work"/prefix/include/tutti/*.h; do # each header stands alone, in C and in C++
    echo "#include <tutti/$(basename "$header")>" >"$work/one.c"
    cc -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$work/prefix/include" "$work/one.c"
done
