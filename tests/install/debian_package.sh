#!/usr/bin/env bash
# debian_package.sh BUILD: `cpack -G DEB` makes a package that lintian finds no error in; in a new Debian it installs, trains, predicts and shows
# its manual, and a purge leaves nothing. Needs root, lintian, mmdebstrap and a
# mirror of Debian (./dev setup --long); without them exit code 77, saying so.
set -euo pipefail
build=$1
skip() { echo "debian_package.sh: skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "not root"
for program in lintian mmdebstrap cpack; do command -v "$program" >/dev/null || skip "no $program: ./dev setup --long"; done
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$release" ] || skip "not a release of Debian"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
(cd "$build" && cpack -G DEB -B "$work/package" >/dev/null)
package=$(echo "$work"/package/tutti_*.deb)
echo "package of $(stat -c %s "$package") bytes"
said=$(lintian --no-tag-display-limit "$package" 2>/dev/null) || true
echo "$said"
! grep -q '^E:' <<<"$said" || { echo "lintian found errors"; exit 1; }

mmdebstrap --quiet --variant=apt --include=man-db,libjson-perl "$release" "$work/root" >/dev/null 2>"$work/log" || { tail -3 "$work/log"; skip "mmdebstrap made no $release"; }
# files PLACE: what lies in the new system, less what every installation changes
files() { (cd "$work/root" && find . -xdev ! -path './proc/*' ! -path './sys/*' ! -path './dev/*' ! -path './tmp/*' ! -path './var/*' ! -path ./etc/ld.so.cache | sort) >"$1"; }
inside() { chroot "$work/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
cp "$package" "$work/root/tutti.deb"
depends=$(dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/,/ /g')
mount -t proc proc "$work/root/proc" && trap 'umount "$work/root/proc"; rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work/root/dev/shm"
inside apt-get update -qq >/dev/null
inside apt-get install -y -qq $depends >/dev/null # so that only our own files come and go below
files "$work/before"
inside dpkg -i /tutti.deb >/dev/null
inside tutti --version
inside sh -c 'cd /tmp && tutti train /usr/share/doc/tutti/examples/mlp.yaml --ranks 2 --set steps=20 --out /tmp/run | tail -n 1'
inside sh -c 'cd /tmp && tutti predict /usr/share/doc/tutti/examples/resnet50/job.yaml --device v100 --topology @v100-25gbe --ranks 8 --weak | head -n 3'
inside sh -c 'man tutti-train | grep -q "SYNOPSIS"'
inside sh -c 'test -x /usr/bin/svm-train && svm-train | grep -q "as in LIBSVM"'
inside dpkg --purge tutti >/dev/null
files "$work/after"
diff "$work/before" "$work/after" || { echo "the purge left these"; exit 1; }
echo "installed, ran, purged: nothing is left"
