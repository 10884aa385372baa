#!/usr/bin/env bash
# A report and the site's lessons opened in Chromium as a reader opens them (report_browser.py): bars, curves, marks and
# pictures, on every page; predictions and live figures in lessons.
# Usage: report_browser.sh ULPLAB
set -euo pipefail
ulplab=$1
here=$(cd "$(dirname "$0")" && pwd)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: no chromium; apt-get install chromium"; exit 0; }
command -v gnuplot >/dev/null || { echo "skipped: no gnuplot; apt-get install gnuplot-nox"; exit 0; }
command -v python3 >/dev/null || { echo "skipped: no python3; apt-get install python3"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$ulplab" run fusion underflow detection --smoke --out "$work" >"$work/log" 2>&1 || [ $? -eq 1 ]  # 1: another verdict
for command in report site; do "$ulplab" $command --out "$work" >>"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; done

# Pages with a fault each, which must be found: a picture and a script that the policy refuses, something too wide, and
# figures without their script.
fault() { sed "s|$3|$4|" "$work/$2.html" >"$work/fault_$1.html"; }
fault picture report-sources '</main>' '<svg><image href="https://ulplab.invalid/a.png"/></svg></main>'
fault script report-sources '</main>' '<script>alert(1)</script></main>'
fault wide report-sources '</main>' '<p style="width: 3000px">wide</p></main>'
fault silent report-systems '^<script>' '<!--'
python3 "$here/report_browser.py" "$chromium" "$work" '*.html' >"$work/faults" || [ $? -eq 1 ]
sed -n 1p "$work/faults"
if sed 1d "$work/faults" | grep -v '^fault_'; then exit 1; fi
for found in 'picture.*: 1 pictures are not shown' 'script.*: console: ' 'wide.*: wider than the window: P' 'silent.*buttons'; do
    grep -q "^fault_$found" "$work/faults" || { echo "not found: $found" >&2; cat "$work/faults" >&2; exit 1; }
done
