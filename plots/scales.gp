set logscale y 2
set format y '2^{%L}'
set xrange [0:*]
set offsets 0,0,graph 0.1,graph 0.1
set autoscale y
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with steps linetype i title series(i) noenhanced
