#!/usr/bin/env bash
# Runs the code blocks and commands of documents, and compares what they print with what the document says.
# Usage: run_blocks.sh SOURCE_FOLDER BUILD_FOLDER COMPILER FLAGS DOCUMENT...
#
# ```sh blocks are run by bash, ```cpp blocks compiled and run, ```python blocks run where the build has the Python package, all
# in one temporary folder per document, where the project seems to be built in build/release. A ```text block after one of them
# is what it prints; a line "..." in it stands for any lines. Every indented line outside of blocks is a command and is run, too; commands within a sentence must exist.
# What takes long is made small: training runs, sweeps, and building and testing, which are only planned.
set -euo pipefail
source_folder=$(cd "$1" && pwd) build=$(cd "$2" && pwd) compiler=$(command -v "$3") flags=$4
programs=$build/bin
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# `ulplab run` and train_digits as in the documents, but small and without figures; a claim may fail then.
mkdir "$work/bin" "$work/kept"
cat >"$work/bin/ulplab" <<STAND_IN
#!/usr/bin/env bash
if [ "\$1" = run ]; then
    case " \$* " in
        *" --grid "*) PATH=/nonexistent exec "$programs/ulplab" "\$@" ;;
        *" all "*) PATH=/nonexistent exec "$programs/ulplab" "\${@/all/roofline}" ;;
        *" gradient_histogram "*) set -- "\$@" --set steps=8 --set hidden=16 --set train_images=64 --set test_images=50 ;;
        *" overflow "*) set -- "\$@" --set length=4096 ;;
        *" underflow "* | *" swamping "*) set -- "\${@/samples=1000000/samples=1000}" ;;
        *) echo "run_blocks.sh does not know how to make this small: ulplab \$*" >&2; exit 2 ;;
    esac
    # What several documents run is run once.
    kept="$work/kept/\$(echo "\$*" | tr -c 'a-z0-9\n' _)"
    if [ ! -e "\$kept" ]; then
        PATH=/nonexistent "$programs/ulplab" "\$@" >"\$kept.part" || [ \$? -eq 1 ]
        mv "\$kept.part" "\$kept"
    fi
    cat "\$kept"
elif [ "\$1" = search ]; then
    exec "$programs/ulplab" "\${@/#100/2}"  # steps
else
    exec "$programs/ulplab" "\$@"
fi
STAND_IN
for sweep in sweep_pairs sweep_functions; do
    cat >"$work/bin/$sweep" <<STAND_IN
#!/usr/bin/env bash
# Stopped after a second; then it resumes from its state.
timeout 1 "$programs/$sweep" "\$@" || [ \$? -eq 124 ]
timeout 1 "$programs/$sweep" "\$@" || [ \$? -eq 124 ]
STAND_IN
done
cat >"$work/bin/g++" <<STAND_IN
#!/usr/bin/env bash
exec "$compiler" $flags "\$@"
STAND_IN
cat >"$work/bin/cmake" <<STAND_IN
#!/usr/bin/env bash
# Says what it would build; installs.
case \$1 in
    --build) "$(command -v cmake)" --build "$build" "\${@:3}" -- -n ;;
    --install) "$(command -v cmake)" --install "$build" "\${@:3}" ;;
    *) echo "run_blocks.sh does not know: cmake \$*" >&2; exit 2 ;;
esac
STAND_IN
cat >"$work/bin/cpack" <<STAND_IN
#!/usr/bin/env bash
# Says how packages would be made; tests/install makes them.
exec "$(command -v cpack)" --version "\$@"
STAND_IN
cat >"$work/bin/ctest" <<STAND_IN
#!/usr/bin/env bash
# Lists the tests; there must be some.
"$(command -v ctest)" "\$@" -N | tee /dev/stderr | grep -qE '^Total Tests: [1-9]'
STAND_IN
printf '#!/bin/sh\necho "a package is missing: apt-get $*" >&2; exit 1\n' | tee "$work/bin/apt-get" >"$work/bin/sudo"
chmod +x "$work"/bin/*
for program in "$programs"/*; do
    [ -e "$work/bin/$(basename "$program")" ] || ln -s "$program" "$work/bin/"
done
export PATH="$work/bin:$PATH" HOME="$work/home"

# make_root FOLDER: what the reader has: the project, built, and files that documents name and the reader writes.
make_root() {
    mkdir -p "$1/build/release"
    for entry in "$source_folder"/*; do
        case ${entry##*/} in build | out) ;; *) ln -s "$entry" "$1/" ;; esac
    done
    for entry in "$build"/*; do
        case ${entry##*/} in bin | single | Testing | _CPack_Packages) ;; *) ln -s "$entry" "$1/build/release/" ;; esac
    done
    ln -s "$work/bin" "$1/build/release/bin"
    ln -s "$work/bin" "$1/build/release/single"
    rm -f "$1/build/release/configured.txt"
    (cd "$1" && . cmake/setup.sh && what_decides build/release >build/release/configured.txt)
    echo '{"experiment": "swamping", "settings": {"samples": [100, 200]}}' >"$1/grid.json"
    echo 'int main() {}' >"$1/example.cpp"
}

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

# Blocks of $1 as files $2/<number>.<language>; a command is one block.
split() {
    awk -v to="$2" '
        function close_block() { if (file != "") close(file); file = "" }
        /^```/ && file == "" && !other { language = substr($0, 4); if (language == "") { other = 1; next }
            file = sprintf("%s/%03d.%s", to, ++count, language); printf "" >file; next }
        /^```/ { other = 0; close_block(); next }
        file != "" { print >file; next }
        other { next }
        function command(line) {
            name = sprintf("%s/%03d.command", to, ++count)
            print line >name
            close(name)
        }
        /^    [^ ]/ { sub(/^ +/, ""); sub(/ +#.*/, ""); command($0); next }
        { while (match($0, /`\.\/(run|check)\.sh[^`]*`/)) {
            command(substr($0, RSTART + 1, RLENGTH - 2))
            $0 = substr($0, RSTART + RLENGTH) } }' "$1"
}

# Commands that sentences of $1 name: `ulplab verify DIR`, `ulplab run swamping`.
check_names() {
    { sed '/^```/,/^```$/d' "$1" | grep -oE '`ulplab [a-z-]+( [a-z_0-9]+)?' || true; } | sort -u |
        while read -r _ verb name; do
            if [ "$verb" = run ]; then ulplab list "$name"; else ulplab "$verb" --help; fi >/dev/null ||
                { echo "$1 names a command that does not exist: ulplab $verb $name" >&2; return 1; }
        done
}

# The interpreter that the Python package was built for; nothing where the build has none.
python=
[ ! -d "$build/python/ulplab" ] || python=$(sed -n 's/^_\?Python_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt" | head -n 1)

run_block() {  # FILE
    case $1 in
        *.python) PYTHONPATH=build/release/python "$python" "$1" ;;
        *.sh) bash -euo pipefail "$1" ;;
        *.command)  # claims may fail: the runs are small
            bash -euo pipefail "$1" || { [ $? -eq 1 ] && grep -qE 'run\.sh|ulplab (run|sweep|claims)' "$1"; } ;;
        *.cpp)
            cp "$1" example.cpp
            g++ -std=c++20 -ffp-contract=off -I. example.cpp build/release/softfloat/libulplab_softfloat.a -o "$1.program"
            "$1.program" ;;
    esac
}

status=0
blocks=0
for document in "$@"; do
    folder="$work/${document//\//_}"
    mkdir -p "$folder/blocks"
    make_root "$folder/here"
    split "$source_folder/$document" "$folder/blocks"
    check_names "$source_folder/$document" || status=1
    printed=
    for block in "$folder"/blocks/*; do
        [ -e "$block" ] || continue
        case $block in
            *.python)
                [ -n "$python" ] || { printed=; continue; } ;;&
            *.sh | *.cpp | *.command | *.python)
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
