#!/usr/bin/env bash
# Makes the Debian package of the program, unpacks it into an empty root and runs it there.
# Usage: package.sh BUILD_FOLDER VERSION
set -euo pipefail
build=$1 version=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "package.sh: $1" >&2; exit 1; }

for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "skipped: no $tool; apt-get install dpkg-dev"; exit 0; }
done
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/made" -D CPACK_COMPONENTS_ALL=runtime >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "cpack failed"; }
package=$(echo "$work"/made/ulplab_*.deb)
[ "$(dpkg-deb -f "$package" Version)" = "$version" ] || fail "the package has version $(dpkg-deb -f "$package" Version)"
dpkg-deb -f "$package" Depends | grep -q 'libc6 .*libstdc++6' || fail "Depends: $(dpkg-deb -f "$package" Depends)"

# An empty root: the package's files and dpkg's own records, nothing else.
mkdir -p "$work/root/var/lib/dpkg/updates" "$work/root/var/lib/dpkg/info"
touch "$work/root/var/lib/dpkg/status"
if [ "$(id -u)" -eq 0 ]; then
    dpkg --root="$work/root" --force-depends --install "$package" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "dpkg failed"; }
else
    dpkg-deb -x "$package" "$work/root"
fi
[ -s "$work/root/usr/share/man/man1/ulplab-show.1.gz" ] || fail "there is no compressed manual page of ulplab show"
dpkg-deb -f "$package" Maintainer | grep -q '<..*@..*>' || fail "the maintainer has no address"
documents=$work/root/usr/share/doc/ulplab
for link in $(grep -o ']([^)#]*' "$documents/README.md" | cut -c3- | grep -v :); do
    [ -e "$documents/$link" ] || fail "README.md is installed without $link"
done

[ -s "$work/root/usr/share/doc/ulplab/docs/playground/softfloat.js" ] || fail "the playground is missing"

# An experiment with its figures and the report: templates and styles are inside the program.
cd "$work"
program=$work/root/usr/bin/ulplab
"$program" run underflow --set samples=1000 --out out >/dev/null || [ $? -eq 1 ]
"$program" report --out out >/dev/null
grep -q '<h1' out/report.html || fail "the report is empty"
if command -v gnuplot >/dev/null; then
    [ -s out/underflow/threshold.svg ] || fail "no figure was drawn"
fi
! grep -aq "$build" "$program" || fail "the program names its build folder"
