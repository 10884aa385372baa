#!/usr/bin/env bash
# Writes what is generated in the documents: the tables of docs/reference, the digests of training runs, the table in
# docs/experiments.md, that of the arrows in docs/architecture.md, and, where out/ holds results (after ./run.sh), the
# figures.
# Usage: docs/update.sh [ULPLAB_PROGRAM [OUTPUT_FOLDER]]; the test of stale tables gives another output folder.
set -euo pipefail
cd "$(dirname "$0")/.."
ulplab=${1:-build/release/bin/ulplab}
to=${2:-.}
[ -x "$ulplab" ] || { echo "update.sh: there is no program $ulplab; build it: ./run.sh" >&2; exit 3; }

# Standard input becomes FILE once it is complete.
write() { cat >"$to/$1.part" && mv "$to/$1.part" "$to/$1"; }

mkdir -p "$to/docs/reference"
docs/hardware.sh | write docs/hardware.md
"$ulplab" dev page formats | write docs/reference/formats.md
"$ulplab" dev page quantizations | write docs/reference/quantizations.md
"$ulplab" dev page claims | write docs/reference/claims.md
"$ulplab" dev page trainings | write docs/reference/trainings.md
"$ulplab" dev page experiments >"$to/table.part"
awk -v table="$to/table.part" '
    /^<!-- end of table -->/ { inside = 0 }
    !inside
    /^<!-- table of experiments/ { inside = 1; while ((getline line <table) > 0) print line }' docs/experiments.md | write docs/experiments.md
# The bits of a short training with every recipe, from one day to the next; those that changed are told.
"$ulplab" dev digests | write docs/reference/digests.txt.new
[ ! -f docs/reference/digests.txt ] ||
    { diff docs/reference/digests.txt "$to/docs/reference/digests.txt.new" || true; } |
    awk '/^[<>]/ && !told[$2, $3]++ { print "update.sh: other bits than before: " $2 " on " $3 }' >&2
mv "$to/docs/reference/digests.txt.new" "$to/docs/reference/digests.txt"
docs/rooms.sh >"$to/table.part"
awk -v table="$to/table.part" '
    /^<!-- end of arrows -->/ { inside = 0 }
    !inside
    /^<!-- table of arrows/ { inside = 1; while ((getline line <table) > 0) print line }' docs/architecture.md | write docs/architecture.md
rm "$to/table.part"
[ "$to" = . ] || exit 0

# The figure of lesson 1.
if command -v gnuplot >/dev/null; then
    codes=$(mktemp -d)
    for format in e4m3 e3m2 e2m3 e2m1; do "$ulplab" codes $format >"$codes/$format.tsv"; done
    gnuplot -e "lesson=1; figure='docs/figures/lessons/number_line'; format='svg'; folder='$codes'; series_names=''; caption_lines=1;
        title_text='The numbers of four small formats';
        caption_text='Positive numbers up to 8. Orange: subnormal. Dashed: where binades begin.'" \
        plots/style.gp docs/lessons/number_line.gp
    rm -r "$codes"
fi

# The diagrams of the lessons.
python3 docs/lessons/diagrams.py docs/figures/lessons

if ls out/*/result.json >/dev/null 2>&1; then
    # Those of the lessons: <experiment>_<figure>.svg. The ones with a single panel are drawn again on a smaller sheet, so
    # that their letters can be read on a phone.
    small='overflow_boundary overflow_norms overflow_softmax swamping_small_updates swamping_updates_lost
        underflow_loss_scale underflow_threshold error_bounds_uniform'
    for figure in $(grep -ho 'figures/lessons/[a-z_]*' docs/lessons/*.md | sort -u); do
        for record in out/*/; do
            name=$(basename "$record")
            drawn=$record${figure#figures/lessons/"${name}"_}.svg
            if [ "${figure#figures/lessons/"${name}"_}" != "$figure" ] && [ -f "$drawn" ]; then
                cp "$drawn" "docs/$figure.svg"
                if [[ " $(echo $small) " == *" ${figure#figures/lessons/} "* ]]; then
                    again=$(mktemp -d)
                    cp "$record"/{data.csv,*.gp} "$again"
                    (cd "$again" && gnuplot -e 'lesson=1' "$(basename "$drawn" .svg).gp" 2>/dev/null)
                    cp "$again/$(basename "$drawn")" "docs/$figure.svg"
                    rm -r "$again"
                fi
            fi
        done
    done
else
    echo "update.sh: there are no results in out/; the figures stay as they are (see ./run.sh)" >&2
fi
