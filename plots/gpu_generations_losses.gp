set logscale y
set xlabel 'step'
set ylabel 'loss'
set key top right
is_seed(i) = series(i)[1:9] eq 'fp32 seed'
seeds = 0
do for [i=1:series_count] { if (is_seed(i)) { seeds = seeds + 1 } }
plot for [i=1:seeds] 'data.csv' using (x_of(series(i))):5 with lines linecolor rgb 0xAAAAAA linewidth 2 dashtype i \
        title series(i), \
    for [i=seeds+1:series_count] '' using (x_of(series(i))):5 with lines linetype i-seeds \
        linewidth (11 - 2*(i-seeds)) title series(i)
