# Scores of single runs; x is the number of the arithmetic, 0 the reference, whose range is the band.
stats 'data.csv' using (strcol(1) eq figure && strcol(2) eq series(1)) nooutput
has_band = STATS_sum > 0   # the reference may have no finite score
if (has_band) { stats 'data.csv' using (x_of(series(1))):5 nooutput }
set xrange [-0.6:series_count-0.4]
set offsets 0,0,graph 0.15,graph 0.15
set autoscale yfix
set grid noxtics
set xzeroaxis linetype 1 linecolor rgb mark_colour linewidth 1
set key off
set xtics scale 0
set xtics () 
set for [i=1:series_count] xtics add (series(i) i - 1)
if (series_count > 5 && !page) { set xtics rotate by -20; set bmargin 7; set rmargin 7 }
if (page && series_count > 2) { set xtics rotate by 35 right; set bmargin 7 }
if (has_band) { set object 1 rectangle from graph 0,first STATS_min_y to graph 1,first STATS_max_y behind fillcolor rgb reference_colour fillstyle solid 0.15 noborder }
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with points linetype i pointsize 1.6 * mark_scale notitle
