#!/usr/bin/env bash
# Doxygen reads all public headers and the reference without a warning. Usage: pages_have_no_warnings.sh DOXYFILE
set -euo pipefail
command -v doxygen >/dev/null || { echo "skipped: no doxygen; apt-get install doxygen"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{ cat "$1"; echo "OUTPUT_DIRECTORY = $work"; echo "GENERATE_HTML = NO"; echo "GENERATE_XML = YES"; } >"$work/Doxyfile"
doxygen "$work/Doxyfile"

# The control: a reference to a document that is not there is told.
printf '# Control\n\n[nothing](no_such_document.md)\n' >"$work/control.md"
{ cat "$work/Doxyfile"; echo "INPUT = $work/control.md"; echo "USE_MDFILE_AS_MAINPAGE ="; } >"$work/Control"
! doxygen "$work/Control" >/dev/null 2>&1 || { echo "a broken link gives no warning" >&2; exit 1; }
