# shellcheck shell=bash
# Shared by run.sh and check.sh, which source it: packages, configuration, build, what is left out. Expects the root of
# the project as the current folder.

# missing_packages FILE...: names in them that are not installed, on one line.
missing_packages() {
    local wanted installed
    wanted=$(grep -hE '^[a-z]' "$@")
    # shellcheck disable=SC2086  # a list of words
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p')
    # shellcheck disable=SC2086
    printf '%s\n' $wanted | { grep -vxF "${installed:-none}" || true; } | tr '\n' ' ' | sed 's/ $//'
}

# install_packages yes|no [FILE...]: installs what is missing of cmake/packages.txt, or ends with the line to type. What is
# missing of cmake/optional_packages.txt and the files is installed, too; where it cannot be, it is left out.
install_packages() {
    local install=$1 optional missing
    shift
    optional=(cmake/optional_packages.txt "$@")
    install_missing "$install" cmake/packages.txt "${optional[@]}"
    command -v dpkg-query >/dev/null || return 0
    missing=$(missing_packages "${optional[@]}")
    if [ -n "$missing" ] && [ "$install" = yes ]; then
        apt_install "$missing" || echo "Could not install: $missing. What needs them is left out." >&2
    fi
}

# install_missing yes|no FILE [OPTIONAL...]: installs the packages of the file, or ends with exit code 3. The line to type
# names what is missing of the optional files, too.
install_missing() {
    local missing all install=$1 file=$2
    shift
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not a Debian system; what is needed is listed in $file." >&2
        return 0
    fi
    missing=$(missing_packages "$file")
    [ -n "$missing" ] || return 0
    all=$(missing_packages "$@")
    if [ "$install" = no ]; then
        echo "Missing packages: $missing. Install them with: $(as_root)apt-get install -y $all" >&2
        exit 3
    fi
    if [ -n "$(as_root)" ] && ! command -v sudo >/dev/null; then
        echo "Missing packages: $missing. There is no sudo here; as root: apt-get install -y $all" >&2
        exit 3
    fi
    apt_install "$missing" || {
        echo "Could not install: $missing. Where packages can be reached: $(as_root)apt-get update && $(as_root)apt-get install -y $all" >&2
        exit 3
    }
}

as_root() { [ "$(id -u)" -eq 0 ] || echo "sudo "; }

# apt_install "NAME NAME...": where that fails, the first of apt's errors goes to stderr.
apt_install() {
    local said
    if [ -n "$(as_root)" ] && ! command -v sudo >/dev/null; then return 1; fi
    echo "Installing $1"
    # shellcheck disable=SC2046  # nothing, or one word
    said=$($(as_root) env DEBIAN_FRONTEND=noninteractive sh -c \
        "apt-get install -y $1 || (apt-get update && apt-get install -y $1)" 2>&1 >/dev/null) ||
        { grep -m 1 '^E: ' <<<"$said" >&2; return 1; }
}

# fetch_arm64_libraries: Debian's libraries for arm64 that ulplab links, unpacked in build/arm64-libraries. Any user may do
# it, and nothing is installed: apt keeps its lists there too.
fetch_arm64_libraries() {
    local folder=$PWD/build/arm64-libraries
    [ ! -f "$folder/complete" ] || return 0
    local apt=$folder/apt
    local options=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=
        -o "Dir::State=$apt" -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt")
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    : >"$apt/status"
    apt-get "${options[@]}" update
    # That of fmt is shared; its package is named after the version.
    local fmt package
    fmt=$(apt-cache "${options[@]}" depends libfmt-dev | sed -n 's/^ *Depends: \(libfmt[0-9]*\)$/\1/p')
    (cd "$apt" && apt-get "${options[@]}" download libfmt-dev "$fmt" zlib1g-dev libdeflate-dev libmd4c-dev libmd4c-html0-dev libmd4c-html0 libmd4c0 \
        libseccomp-dev libseccomp2)
    for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$folder"; done
    touch "$folder/complete"
}

# what_decides FOLDER OPTION...: what a configuration depends on, a line for each: versions of this project and of the tools
# and packages that it looks for, the presets, and what somebody may have chosen in the folder's cache.
what_decides() {
    local folder=$1 tool
    shift
    echo "folder $PWD"
    grep -oE 'project\(ulplab VERSION [0-9.]+' CMakeLists.txt | sed 's/project(//'
    echo "options ${*:-none}"
    echo "presets $(sha256sum CMakePresets.json 2>/dev/null | cut -c1-16)"
    for tool in cmake g++ clang++ nvcc doxygen; do
        echo "$tool $({ command -v "$tool" && "$tool" --version; } 2>/dev/null | grep -m 2 -E '^/|[0-9]\.[0-9]' | tr '\n' ' ')"
    done
    echo "CUDA_PATH ${CUDA_PATH:-none}; $(readlink -f /usr/local/cuda || true)"
    grep -hE '^[a-z]' cmake/packages.txt cmake/optional_packages.txt cmake/python_packages.txt | while read -r tool; do
        dpkg-query -W -f='package ${Package} ${Version} ${db:Status-Status}\n' "$tool" 2>/dev/null |
            grep ' installed$' || echo "package $tool missing"
    done
    echo "environment $(grep '^requirements.txt' build/release/venv/complete.txt 2>/dev/null || echo none)"
    sed -nE 's/^((ULPLAB_[A-Z]+|CMAKE_BUILD_TYPE|CMAKE_CXX_FLAGS):(STRING|BOOL)=)/chosen \1/p' "$folder/CMakeCache.txt" 2>/dev/null
    return 0
}

# configure PRESET [OPTION...]: where that has not been done, and anew where something that it depends on has changed since.
# Ninja configures again by itself when a CMake file changes.
configure() {
    local folder=build/$1 before now
    if [ -f "$folder/configured.txt" ]; then
        before=$(cat "$folder/configured.txt")
        now=$(what_decides "$folder" "${@:2}")
        [ "$now" != "$before" ] || return 0
        echo "$folder is configured again. What it was configured with has changed:"
        { diff <(echo "$before") <(echo "$now") || true; } | sed -n 's/^</  before:/p; s/^>/  now:   /p' | head -n 20
    elif [ -f "$folder/CMakeCache.txt" ]; then
        echo "$folder is configured again: something else than run.sh and check.sh configured it, or an earlier version."
    fi
    rm -f "$folder/configured.txt"
    cmake --fresh --preset "$@" || { echo "$folder could not be configured; the message above says why." >&2; exit 3; }
    what_decides "$folder" "${@:2}" >"$folder/configured.txt"
}

# build PRESET [TARGET...]
build() {
    local preset=$1 targets=()
    shift
    [ $# -eq 0 ] || targets=(--target "$@")
    cmake --build "build/$preset" -j "$(nproc)" "${targets[@]}"
}

# check_sources PRESET: compiles C++ sources of a configuration by themselves, for their errors and warnings alone: those of
# the last thirty commits, and of the others each fifth, another one each day. The preset has neither precompiled headers
# nor sources that are compiled together, so that a missing include is an error.
check_sources() {
    local folder=build/$1
    build "$1" experiments/sources_digest.cpp  # which the build makes
    # Without those of nvcc and those that the build makes, but for the kernels of vector kits; each source once.
    sed -n 's/^  "command": "\(.*\)",$/\1/p' "$folder/compile_commands.json" | grep -v 'nvcc' |
        awk -v made=" -c $PWD/build/" '!index($0, made) || /kernels\/[^\/]*\.cpp$/' |
        sed -E 's/\\(.)/\1/g; s/ -o [^ ]+ -c / -fsyntax-only /' | awk '!seen[$NF]++' |
        awk -v root="$PWD/" -v today=$(($(date +%s) / 86400 % 5)) 'FILENAME != "-" { fresh[root $0]; next }
            $NF in fresh || FNR % 5 == today' <(git log -n 30 --name-only --format= 2>/dev/null) - >"$folder/sources.txt"
    echo "Compiling $(wc -l <"$folder/sources.txt") sources by themselves"
    (cd "$folder" && xargs -d '\n' -P "$(nproc)" -I '{}' sh -c '{}' <sources.txt)
}

# timed WORDS COMMAND...: runs the command; `times` says afterwards, in seconds, what each took.
times=""
timed() {
    local words=$1 begin=$SECONDS
    shift
    "$@"
    times+="${times:+, }$words $((SECONDS - begin)) s"
}

# say_what_is_left_out PRESET [LOG]: what this build lacks, and why; with the log of the tests those that were skipped.
say_what_is_left_out() {
    local folder=build/$1 log=${2:-} lines
    lines=$(cat "$folder/left_out.txt" 2>/dev/null || true)
    command -v gnuplot >/dev/null || lines+=$'\n'"figures: gnuplot is not installed (apt-get install gnuplot-nox)"
    lines+=${without_environment:+$'\n'"Python with PyPI's packages: $without_environment"}
    if [ -n "$log" ]; then
        # Not the lines of ctest itself, which name the expression "[skipped: no ]".
        lines+=$'\n'$(sed -nE 's/^(.*MESSAGE: )?skipped: (no .*)/\2/p' "$log" 2>/dev/null | sort | uniq -c |
            sed -E 's/^ *([0-9]+) (.*)/tests skipped, \1: \2/' || true)
    fi
    lines=$(grep -v '^ *$' <<<"$lines" || true)
    [ -n "$lines" ] || { echo "Left out: nothing"; return 0; }
    echo "Left out:"
    sed 's/^/  /' <<<"$lines"
}
