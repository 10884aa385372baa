# Scores of single runs, a row for each arithmetic: their x is its number, 0 the reference, whose range is the band.
stats 'data.csv' using (strcol(1) eq figure && strcol(2) eq series(1)) nooutput
has_band = STATS_sum > 0   # the reference may have no finite score
if (has_band) {
    stats 'data.csv' using (x_of(series(1))):5 nooutput
    set object 1 rectangle from first STATS_min_y,graph 0 to first STATS_max_y,graph 1 behind fillcolor rgb reference_colour fillstyle solid 0.15 noborder
}
stats [*:*] [*:*] 'data.csv' using (strcol(1) eq figure ? column(5) : NaN) nooutput
if (page && STATS_max > STATS_min) { set xtics tic(STATS_max - STATS_min) }
set yrange [series_count-0.4:-0.6]
set offsets graph 0.05,graph 0.05,0,0
set autoscale xfix
set grid noytics
set yzeroaxis linetype 1 linecolor rgb mark_colour linewidth 1
set key off
set tmargin (page ? 1 : 3.6); set title offset 0,0.5
set ytics scale 0 font small
set ytics ()
set for [i=1:series_count] ytics add (series(i) i - 1)
plot for [i=1:series_count] 'data.csv' using 5:(x_of(series(i))) with points linetype i pointsize 1.6 * mark_scale notitle
