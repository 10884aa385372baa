# Above: the outline of the reference's seeds, then a mean curve for each arm. Below, in a panel of -reach to reach: the
# outline once more, about its mean, and the arms but the first, minus the reference. Of one seed (`one_seed`) the outline
# is a line, which the key leaves out.
arms = (series_count - 1) / 2
width(i) = i == 1 ? 4 : 1.5 + 2.0 * (arms - i) / arms   # of curves on each other the first ones show at the edges
set xrange [0:*]
set autoscale xfixmax
stats [*:*] [*:*] 'data.csv' using (strcol(1) eq figure && strcol(2) eq series(2) ? column(5) : NaN) nooutput
if (STATS_records == 0) {   # the reference is never finite, and the steps are only seen in the others
    stats [*:*] [*:*] 'data.csv' using (strcol(1) eq figure ? column(3) : NaN) nooutput
    set xrange [0:STATS_max]
}
if (page && !y_log && STATS_max > STATS_min) { set ytics tic(STATS_max - STATS_min) }
if (page) { set multiplot } else { set multiplot title title_text noenhanced font large }
unset title
tmargin_above = page ? 0.97 : 0.89; bmargin_above = 0.53
tmargin_below = page ? 0.45 : 0.49; bmargin_below = page ? 0.25 : 0.185 + 0.027 * caption_lines
panel_below = 1
named = ends > 0 && (!page || longest_line <= 13)
set lmargin at screen (page ? 0.27 : 0.13)
set rmargin at screen (page ? (named ? 0.9 - 0.0195 * longest_line : 0.945) : 0.68)
set tmargin at screen tmargin_above; set bmargin at screen bmargin_above
set format x ''
unset xlabel
if (named) { set key off }
if (!page && !named) { set key vertical at screen 0.695,0.88 left top Left reverse samplen 1.2 font tiny }   # beside the panels: no curve runs through it
plot 'data.csv' using (x_of(series(1))):5 with filledcurves closed linecolor rgb reference_colour fillstyle solid 0.18 noborder title (exists("one_seed") ? "" : series(1)) noenhanced, \
    for [i=1:arms] '' using (x_of(series(i + 1))):(named ? end(i, x_of(series(i + 1)), column(5)) : column(5)) with lines linetype i linewidth width(i) title series(i + 1) noenhanced
if (named) {
@ends@}
unset label 1000
unset logscale y
set format x '% h'
set format y '% h'
set tmargin at screen tmargin_below; set bmargin at screen bmargin_below
set xlabel 'step'
set ylabel difference_label noenhanced font small
set yrange [-reach:reach]
if (page) { set ytics tic(2 * reach) }
set key off
plot 'data.csv' using (x_of(series(arms + 2))):5 with filledcurves closed linecolor rgb reference_colour fillstyle solid 0.18 noborder title series(arms + 2) noenhanced, \
    0 with lines linecolor rgb reference_colour linewidth 2 title series(2) noenhanced, \
    for [i=2:arms] '' using (x_of(series(arms + 1 + i))):5 with lines linetype i linewidth width(i) title series(arms + 1 + i) noenhanced
unset multiplot
