set logscale y
set format y '10^{%T}'
set xlabel 'step'
set ylabel 'relative distance of the parameters'
set key bottom right
# H100 and B200 lie on each other: the wide line is drawn first.
of(i) = word('3 1 2 4 5 6', i)   # H100, V100, A100, B200, and the command line's backend
plot for [i=1:series_count-1] 'data.csv' using (x_of(series(int(of(i))))):5 with lines linetype int(of(i)) \
        linewidth (i == 1 ? 9 : 2.5) title series(int(of(i))), \
    '' using (x_of(series(series_count))):5 with lines linecolor rgb mark_colour dashtype 2 linewidth 2 \
        title series(series_count)
