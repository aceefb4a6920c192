#!/usr/bin/env bash
# bundle.sh BUILD DIR [BYTES]: puts the program of a build with its shared libraries, the benchmarks of a card and the jobs that they read into the folder
# DIR, so that it runs where there is nothing of that but libc. Fails where the folder is over BYTES (60 MB). ./dev bundle builds first.
set -euo pipefail
build=$1 dir=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
limit=${3:-60000000}
packed=16000000 # a library of more bytes travels compressed
mark=".tutti-bundle"

die() { printf 'bundle: %s\n' "$*" >&2; exit 2; }

# is_libc NAME: whether every system with glibc has the library
is_libc() {
    case $1 in
    ld-linux* | libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libresolv.so.* | linux-vdso*) return 0 ;;
    esac
    return 1
}

# A folder that has the mark is an older bundle and may be emptied.
empty_folder() {
    if [ -e "$dir" ] && [ ! -e "$dir/$mark" ] && [ -n "$(ls -A "$dir" 2>/dev/null)" ]; then
        die "$dir: not empty, and no bundle: give another folder, or remove it"
    fi
    rm -rf "$dir"
    mkdir -p "$dir"
    touch "$dir/$mark"
}

programs() {
    local program
    mkdir -p "$dir/bin" "$dir/lib"
    for program in "$build/tutti" "$build"/bench/bench_gpu_*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        strip -s -o "$dir/bin/${program##*/}" "$program"
        start_script >"$dir/${program##*/}"
        chmod +x "$dir/${program##*/}"
    done
}

# The script that starts a program. At the first start it unpacks packed libraries beside themselves, under another name until they are whole.
start_script() {
    cat <<'SCRIPT'
#!/bin/sh
# Starts the program of this name in bin/ with the libraries in lib/, wherever the folder lies.
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 2
for packed in "$here"/lib/*.gz; do
    file=${packed%.gz}
    [ -e "$packed" ] && [ ! -e "$file" ] || continue
    gunzip -c "$packed" >"$file.$$" && mv "$file.$$" "$file" || {
        echo "$0: cannot unpack $packed: make $here/lib writable, or unpack it there by hand (gunzip -k)" >&2
        exit 2
    }
done
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$here/bin/${0##*/}" "$@"
SCRIPT
}

# Copies the libraries of the programs; ldd names libraries of libraries, too.
libraries() {
    local name file
    ldd "$dir"/bin/* | awk '$2 == "=>" { print $1, $3 }' | sort -u | while read -r name file; do
        is_libc "$name" && continue
        [ -f "$file" ] || die "$name: not found, and a program needs it"
        strip -s -o "$dir/lib/$name" "$file" 2>/dev/null || cp -L "$file" "$dir/lib/$name"
    done
}

# Fails where a needed library is in no file of the bundle. Names alone are looked at, so that libraries of this machine do not count.
check_needs() {
    local file name
    for file in "$dir"/bin/* "$dir"/lib/*; do
        readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r name; do
            is_libc "$name" || [ -e "$dir/lib/$name" ] || die "$file needs $name, which is not in the bundle"
        done
    done
}

pack_libraries() {
    local file
    for file in "$dir"/lib/*; do
        [ "$(stat -c %s "$file")" -le $packed ] || gzip -n "$file"
    done
}

# Copies the scripts and jobs to the places that they have in the repository, so that they find each other.
texts() {
    (cd "$root" && cp --parents -r examples bench/gpu src/training/model/zoo tests/oracle/torch_models.py "$dir")
    find "$dir" -name __pycache__ -exec rm -rf {} +
}

[ -x "$build/tutti" ] || die "$build/tutti: not built: ./dev build"
empty_folder
dir=$(cd "$dir" && pwd)
programs
libraries
check_needs
pack_libraries
texts
size=$(du -sb --apparent-size "$dir" | cut -f1)
[ "$size" -le $limit ] || die "$dir: $size bytes; at most $limit; the largest: $(cd "$dir" && du -ab bin/* lib/* | sort -rn | sed -n '1,3p' | tr '\t\n' '  ')"
printf 'bundle: %s: %d.%02d MB, of which programs %d kB, libraries %d kB\n' "$dir" $((size / 1000000)) $((size % 1000000 / 10000)) \
    $(($(du -sb "$dir/bin" | cut -f1) / 1000)) $(($(du -sb "$dir/lib" | cut -f1) / 1000))
