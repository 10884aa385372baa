set logscale y
set format y '10^{%T}'
set xlabel 'step'
set ylabel 'relative distance of the parameters'
plot for [i=1:series_count-1] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth 2.5 title series(i), \
    '' using (x_of(series(series_count))):5 with lines linecolor rgb mark_colour dashtype 2 linewidth 2 \
        title series(series_count)
