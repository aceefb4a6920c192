#!/bin/bash
# svm_golden.sh SOURCE: makes tests/golden/svm anew with LIBSVM's svm-train and svm-predict (Debian's libsvm-tools 3.24, ./dev setup
# --test) and compares. 77: they are not installed, or of another version.
set -eu
golden=$1/tests/golden/svm
version=$(dpkg-query -W -f '${Version}' libsvm-tools 2>/dev/null) || true
case $version in 3.24*) ;; *) echo "skipped: no libsvm-tools 3.24 (./dev setup --test on Debian 12)"; exit 77 ;; esac
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT
cd "$golden"
make() { # SET MODEL OPTIONS...
  local set=$1 model=$2
  shift 2
  svm-train -q "$@" "$set.svm" "$made/$model.model"
  svm-predict -q "$set.svm" "$made/$model.model" "$made/$model.predicted"
}
make two linear -t 0
make two polynomial -t 1 -r 0.5
make two rbf -t 2
make two two_probability -b 1 -t 2 -c 4
make four sigmoid -t 3 -r -0.1 -g 0.05
make four four -t 0 -c 5
make four probability -b 1 -c 10
make precomputed precomputed -t 4
svm-predict -q -b 1 two.svm "$made/two_probability.model" "$made/two_probability.probabilities"
svm-predict -q -b 1 four.svm "$made/probability.model" "$made/probability.probabilities"
grep '^1 ' two.svm >"$made/one.svm"
svm-train -q "$made/one.svm" "$made/one_class.model"
svm-predict -q two.svm "$made/one_class.model" "$made/one_class.predicted"
rm "$made/one.svm"
for file in "$made"/*; do cmp "$file" "$(basename "$file")"; done
echo "svm_golden: $(ls "$made" | wc -l) files are the same"
