# shellcheck shell=bash
# Shared by run.sh and check.sh, which source it: packages, configuration, build. Expects the root of the project as the
# current folder.

# missing_packages FILE...: names in them that are not installed, on one line.
missing_packages() {
    local wanted installed
    wanted=$(grep -hE '^[a-z]' "$@")
    # shellcheck disable=SC2086  # a list of words
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p')
    # shellcheck disable=SC2086
    printf '%s\n' $wanted | { grep -vxF "${installed:-none}" || true; } | tr '\n' ' ' | sed 's/ $//'
}

# install_packages yes|no [FILE...]: installs what is missing of cmake/packages.txt and the files, or with "no" stops
# with the line to type.
install_packages() {
    local install=$1
    shift
    install_missing "$install" cmake/packages.txt "$@"
}

# install_missing yes|no FILE...: the same of the files alone.
install_missing() {
    local missing sudo="" install=$1
    shift
    if ! command -v dpkg-query >/dev/null; then
        echo "This is not a Debian system; what is needed stands in cmake/packages.txt." >&2
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    [ "$(id -u)" -eq 0 ] || sudo="sudo "
    echo "Missing packages: $missing"
    if [ "$install" = no ]; then
        echo "Install them with: ${sudo}apt-get install -y $missing" >&2
        exit 3
    fi
    if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
        echo "There is no sudo here; as root: apt-get install -y $missing" >&2
        exit 3
    fi
    # shellcheck disable=SC2086
    ${sudo}env DEBIAN_FRONTEND=noninteractive sh -c "apt-get install -y $missing || (apt-get update && apt-get install -y $missing)" \
        >/dev/null || { echo "Could not install: $missing. Try: ${sudo}apt-get update && ${sudo}apt-get install -y $missing" >&2; exit 3; }
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
    (cd "$apt" && apt-get "${options[@]}" download libfmt-dev "$fmt" zlib1g-dev libdeflate-dev)
    for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$folder"; done
    touch "$folder/complete"
}

# configure PRESET [OPTION...]: only where that has not been done; ninja configures again by itself when a CMake file changes.
configure() {
    [ -f "build/$1/build.ninja" ] || cmake --preset "$@"
}

# build PRESET [TARGET...]
build() {
    local preset=$1 targets=()
    shift
    [ $# -eq 0 ] || targets=(--target "$@")
    cmake --build "build/$preset" -j "$(nproc)" "${targets[@]}"
}

# timed WORDS COMMAND...: runs the command; `times` says afterwards, in seconds, what each took.
times=""
timed() {
    local words=$1 begin=$SECONDS
    shift
    "$@"
    times+="${times:+, }$words $((SECONDS - begin)) s"
}
