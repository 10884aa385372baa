# Categories on x: `names`. Series: the minimum and maximum of the reference's seeds at each category, then a series for
# each arm, in a panel of -reach to reach.
set xtics () scale 0
do for [i=1:words(names)] { set xtics add (word(names, i) i - 1) }
if (words(names) > 5 && !page) { set xtics rotate by -20; set bmargin 8; set rmargin 6 }
if (page) { set xtics rotate by 35 right; set bmargin 6 }
set grid noxtics
clipped(y) = y > reach ? reach : y < -reach ? -reach : y
do for [c=0:words(names)-1] {
    stats 'data.csv' using (x_of(series(1)) == c) nooutput
    if (STATS_sum == 0) { continue }   # no seed of the reference is finite
    stats 'data.csv' using (x_of(series(1)) == c ? column(5) : NaN) nooutput
    set object c+1 rectangle from c-0.42,clipped(STATS_min) to c+0.42,clipped(STATS_max) behind fillcolor rgb mark_colour fillstyle solid 0.25 noborder
}
set xrange [-0.6:words(names)-0.4]  # after stats, which leaves out what lies outside
set yrange [-reach:reach]
plot 0 with lines linecolor rgb mark_colour linewidth 1 notitle, \
    for [i=2:series_count] 'data.csv' using (x_of(series(i))):5 with points linetype i - 1 pointsize 1.6 * mark_scale title series(i)
