#!/bin/sh
# manual.sh PROGRAM FOLDER VERSION: a page of the manual for the program and for each command, from what --help says: FOLDER/tutti.1,
# FOLDER/tutti-train.1, .. and svm-train.1, svm-predict.1. Verbs of a command are sections of its page.
set -eu
program=$1 folder=$2 version=$3
LC_ALL=C
export LC_ALL
mkdir -p "$folder"

# Reads a --help. Its first line is the usage. "  WORD  text" becomes a tagged paragraph, which deeper lines continue; a line that ends with ':'
# and has no indent becomes a subheading; other lines are paragraphs.
page() {
    awk -v section="$1" '
        function plain(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); gsub(/[|]/, "|\\:", s); if (s ~ /^[.'"'"']/) s = "\\&" s; return s }
        NR == 1 { sub(/^usage: /, ""); print section == "" ? ".SH SYNOPSIS" : ".SH \"" plain(section) "\""; print ".B " plain($0);
                  if (section == "") print ".SH DESCRIPTION"; next }
        /^$/ { print ".PP"; tagged = 0; next }
        /^[^ ].*:$/ { print ".SS \"" plain($0) "\""; tagged = 0; next }
        /^   / && tagged { sub(/^ +/, ""); print plain($0); next }
        match($0, /^  [^ ].*[^ ]  +[^ ]/) || /^  [^ ]+ +[^ ]/ {
            line = substr($0, 3)
            if (!match(line, /  +/)) match(line, / +/)
            print ".TP"; print ".B " plain(substr(line, 1, RSTART - 1)); print plain(substr(line, RSTART + RLENGTH)); tagged = 1; next }
        { sub(/^ +/, ""); print plain($0) }'
}

# begin NAME SUMMARY
begin() {
    printf '.TH %s 1 "" "tutti %s" "tutti"\n.SH NAME\n%s \\- %s\n' "$(echo "$1" | tr a-z- A-Z-)" "$version" "$(echo "$1" | sed 's/-/\\-/g')" "$2"
}

rows() { sed -n 's/^  \([a-z][a-z-]*\)  *\(.*\)$/\1|\2/p'; }

{
    begin tutti "train networks over many processes, by schedules that are checked, simulated and run"
    "$program" --help | sed -n '/^usage/p'  | page ""
    "$program" --help | sed '1,/^usage/d' | { echo; cat; } | page COMMANDS | sed '2d'
} >"$folder/tutti.1"

"$program" --help | rows | while IFS='|' read -r command summary; do
    name=tutti-$command
    case $command in svm-*) name=$command ;; esac
    {
        begin "$name" "$summary"
        "$program" "$command" --help | page ""
        case $("$program" "$command" --help | head -n 1) in
        *VERB*) "$program" "$command" --help | rows | while IFS='|' read -r verb rest; do
                "$program" "$command" "$verb" --help | page "$command $verb"
            done ;;
        esac
    } >"$folder/$name.1"
done
