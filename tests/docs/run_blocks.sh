#!/usr/bin/env bash
# Runs the code blocks of a document, and compares what they print with what the document says.
# Usage: run_blocks.sh SOURCE_FOLDER PROGRAM_FOLDER COMPILER SOFTFLOAT_LIBRARY DOCUMENT...
#
# ```sh blocks are run by bash, ```cpp blocks compiled and run, both in one temporary folder a document. A ```text block
# after one of them is what it prints; a line "..." in it stands for any lines. Indented lines that begin with
# build/release/bin/ulplab are run, too, but those with a word in capitals, which stands for a folder that the reader has.
# Trainings are made small.
set -euo pipefail
source_folder=$(cd "$1" && pwd) programs=$2 compiler=$3 library=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# `ulplab run` and train_digits as in the documents, but small and without figures; a claim may fail then.
mkdir "$work/bin"
cat >"$work/bin/ulplab" <<STAND_IN
#!/usr/bin/env bash
if [ "\$1" = run ]; then
    case " \$* " in
        *" gradient_histogram "*) set -- "\$@" --set steps=8 --set hidden=16 --set train_images=64 --set test_images=50 ;;
        *" overflow "*) set -- "\$@" --set length=4096 ;;
        *" underflow "* | *" swamping "*) set -- "\${@/samples=1000000/samples=1000}" ;;
        *) echo "run_blocks.sh does not know how to make this small: ulplab \$*" >&2; exit 2 ;;
    esac
    PATH=/nonexistent "$programs/ulplab" "\$@" || [ \$? -eq 1 ]
else
    exec "$programs/ulplab" "\$@"
fi
STAND_IN
chmod +x "$work/bin/ulplab"
for program in "$programs"/*; do
    [ -e "$work/bin/$(basename "$program")" ] || ln -s "$program" "$work/bin/"
done
export PATH="$work/bin:$PATH"

# Whether the file $2 is what the block $1 says.
matches() {
    awk -v said="$1" '
        BEGIN { while ((getline line <said) > 0) want[n++] = line }
        { got[m++] = $0 }
        END {
            at = 0
            for (i = 0; i < n; ++i) {
                if (want[i] == "...") { loose = 1; continue }
                if (loose) while (at < m && got[at] != want[i]) ++at
                if (at >= m || got[at] != want[i]) {
                    print "  said:    " want[i]
                    if (!loose) print "  printed: " (at < m ? got[at] : "nothing more")
                    exit 1
                }
                ++at
                loose = 0
            }
            if (!loose && at < m) { print "  printed as well: " got[at]; exit 1 }
        }' "$2"
}

# Blocks of $1 as files $2/<number>.<language>; an indented command is one block.
split() {
    awk -v to="$2" '
        function close_block() { if (file != "") close(file); file = "" }
        /^```/ && file == "" && !other { language = substr($0, 4); if (language == "") { other = 1; next }
            file = sprintf("%s/%03d.%s", to, ++count, language); printf "" >file; next }
        /^```/ { other = 0; close_block(); next }
        file != "" { print >file; next }
        /^    build\/release\/bin\/ulplab / { commands = sprintf("%s/%03d.indented", to, ++count)
            sub(/^ *build\/release\/bin\//, ""); sub(/ +#.*/, ""); print >commands; close(commands) }' "$1"
}

run_block() {  # FILE
    case $1 in
        *.sh) bash -euo pipefail "$1" ;;
        *.indented)
            grep -qE '(^| )[A-Z]{3,}( |$)' "$1" || bash -euo pipefail "$1" || [ $? -eq 1 ] ;;
        *.cpp)
            "$compiler" -std=c++20 -ffp-contract=off -I"$source_folder" "$1" "$library" -o "$1.program"
            "$1.program" ;;
    esac
}

status=0
blocks=0
for document in "$@"; do
    folder="$work/$(basename "$document" .md)"
    mkdir -p "$folder/blocks" "$folder/here"
    split "$source_folder/$document" "$folder/blocks"
    # A file that documents name and the reader writes (docs/sweeps.md).
    echo '{"experiment": "swamping", "settings": {"samples": [100, 200]}}' >"$folder/here/grid.json"
    printed=
    for block in "$folder"/blocks/*; do
        [ -e "$block" ] || continue
        case $block in
            *.sh | *.cpp | *.indented)
                blocks=$((blocks + 1))
                printed="$block.printed"
                if ! (cd "$folder/here" && run_block "$block") >"$printed" 2>&1; then
                    echo "$document: a block fails:" >&2
                    cat "$block" >&2
                    tail -5 "$printed" >&2
                    status=1
                fi ;;
            *.text)
                [ -n "$printed" ] || continue
                matches "$block" "$printed" >"$work/difference" || {
                    echo "$document: a block prints something else:" >&2
                    cat "$work/difference" >&2
                    status=1
                } ;;
        esac
    done
done
[ "$blocks" -gt 0 ] || { echo "run_blocks.sh: there is no block to run in $*" >&2; exit 1; }

# The control: a wrong line and a missing one are found.
printf 'a\nb\nc\n' >"$work/printed"
printf '...\nb\nx\n' >"$work/wrong"
printf 'a\nb\n' >"$work/short"
printf 'a\n...\nc\n' >"$work/good"
! matches "$work/wrong" "$work/printed" >/dev/null || { echo "a wrong line passes" >&2; status=1; }
! matches "$work/short" "$work/printed" >/dev/null || { echo "a missing line passes" >&2; status=1; }
matches "$work/good" "$work/printed" >/dev/null || { echo "a good block fails" >&2; status=1; }
exit $status
