set xlabel 'step'
set xrange [0:*]
set offsets 0,0,graph 0.1,graph 0.1
set autoscale y
set arrow 1 from growth1,graph 0 to growth1,graph 1 nohead linecolor rgb mark_colour dashtype 2
set arrow 2 from growth2,graph 0 to growth2,graph 1 nohead linecolor rgb mark_colour dashtype 2
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with steps linetype i title series(i)
