#!/usr/bin/env bash
# everything.sh SOURCE BUILD: `cmake --install` brings what a distribution wants, stripped and without oneDNN among everybody's libraries; `uninstall`
# takes all of it away.
set -euo pipefail
source=$1 build=$2
. "$source/tests/install/installed.sh"
prefix=$work/prefix
there() { for name in "$@"; do compgen -G "$prefix/$name" >/dev/null || { echo "not installed: $name"; exit 1; }; done; }
doc=share/doc/tutti
there bin/tutti bin/svm-train bin/svm-predict include/tutti/comm.h \
    $doc/LICENSE $doc/README.md $doc/docs/models.md $doc/examples/lenet.yaml share/man/man1/tutti.1 share/man/man1/tutti-train.1 \
    share/man/man1/svm-train.1 share/bash-completion/completions/tutti
library=$(find "$prefix" -name libtutti.so.0) # lib, lib64, lib/x86_64-linux-gnu
[ -n "$library" ] && [ -f "${library%/*}/pkgconfig/tutti.pc" ] || { echo "no library, or no tutti.pc beside it"; exit 1; }
! compgen -G "${library%/*}/libdnnl*" || { echo "oneDNN lies among everybody's libraries"; exit 1; }
for file in "$prefix/bin/tutti" "$library"; do
    ! readelf -S "$file" | grep -q debug_info || { echo "$file is not stripped"; exit 1; }
done
"$prefix/bin/tutti" --version | grep -q "^built with .* by "
size=$(stat -Lc %s "$prefix"/bin/tutti)
[ "$size" -lt 100000 ] || { echo "the program has $size bytes: it is not linked to libtutti"; exit 1; }

# Each command has a page, which says what its --help says.
"$prefix/bin/tutti" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' | while read -r command; do
    page=$prefix/share/man/man1/tutti-$command.1
    case $command in svm-*) page=$prefix/share/man/man1/$command.1 ;; esac
    [ -s "$page" ] || { echo "no page of $command"; exit 1; }
    grep -q "^.SH SYNOPSIS" "$page"
done
grep -q "override a key of the job" "$prefix/share/man/man1/tutti-train.1"
if command -v man >/dev/null; then
    said=$(MANROFFSEQ= LC_ALL=C.UTF-8 man --warnings -l "$prefix"/share/man/man1/tutti-train.1 2>&1 >/dev/null)
    [ -z "$said" ] || { echo "$said"; exit 1; }
fi

# Completion: commands, verbs, flags.
answers() { # WORD...: what bash would offer for the last one
    PATH=$prefix/bin:$PATH bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tutti; echo "${COMPREPLY[*]}"' \
        "$prefix/share/bash-completion/completions/tutti" "$@"
}
[ "$(answers tutti tra)" = "trace train" ] || { echo "completion of 'tra': $(answers tutti tra)"; exit 1; }
[ "$(answers tutti coll expl)" = explain ] || { echo "completion of 'coll expl': $(answers tutti coll expl)"; exit 1; }
[ "$(answers tutti train job.yaml --fre)" = --fresh ] || { echo "completion of '--fre': $(answers tutti train job.yaml --fre)"; exit 1; }

# Gone again.
cp "$build/install_manifest.txt" "$work/manifest"
cmake -DMANIFEST="$work/manifest" -P "$source/cmake/uninstall.cmake"
left=$(find "$prefix" ! -type d)
[ -z "$left" ] || { echo "left: $left"; exit 1; }
! compgen -G "$prefix/share/doc/tutti" || exit 1
echo "all there, and gone again"
