# Stacked boxes over three categories, `names`: the heights are taken from the data first, one box on top of the other.
array height[3 * series_count]
do for [i=1:series_count] {
    do for [x=0:2] {
        stats 'data.csv' using (x_of(series(i)) == x ? column(5) : NaN) nooutput
        height[3 * (i - 1) + x + 1] = STATS_max
    }
}
up_to(i, x) = (i == 0 ? 0 : sum [j=1:i] height[3 * (j - 1) + int(x) + 1])
set boxwidth 0.6
set xrange [-0.6:2.6]
set xtics () nomirror
lines(name) = page && strstrt(name, ' with ') ? name[1:strstrt(name, ' with ') - 1] . "\nwith " . name[strstrt(name, ' with ') + 6:*] : name
do for [x=0:2] { set xtics add (lines(word(names, x + 1)) x) }
if (!page) { set key inside vertical top right invert }
do for [x=0:2] {
    set label 10+x sprintf(page ? '%.0f MiB' : '%.4f MiB', up_to(series_count, x)) at x,up_to(series_count, x) center offset 0,0.8 font small
}
top(i) = (x_of(series(i)) == x_of(series(i)) ? up_to(i, column(3)) : NaN)
plot for [i=series_count:1:-1] 'data.csv' using (x_of(series(i))):(top(i)) with boxes \
    linetype (i == 1 ? 9 : i == 2 ? 5 : 10) fillstyle solid 1 title series(i)
