set xlabel 'N, number of fours'
set ylabel 'L2 norm'
set xrange [0:6300]
set yrange [0:350]
infinite(name) = strcol(1) eq figure && strcol(2) eq name && strcol(5) eq 'inf' ? 338 : NaN
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth (i == 1 ? 7 : 3) \
        title series(i), \
    4 * sqrt(x) with lines linecolor rgb mark_colour linewidth 1.5 dashtype 2 title 'exact', \
    'data.csv' using 3:(infinite(series(2))) with points linetype 2 pointtype 2 pointsize 0.8 * mark_scale title 'fp16 pairwise: infinity'
