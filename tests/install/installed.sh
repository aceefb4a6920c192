# installed.sh SOURCE BUILD: what the tests beside it begin with (they source it): installs into an empty folder, $work/prefix, which goes
# when they end.
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null

example() { # NAME: examples/NAME, built outside the tree against the installation in $work/NAME/build
    cp -r "$source/examples/$1" "$work/$1"
    cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
    cmake --build "$work/$1/build" >/dev/null
}
