set logscale y 10
set format y '%g'
set xlabel 'step'
set ylabel 'distance of the losses'
set xrange [0:*]
set offsets 0,0,graph 0.1,0
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth 3 title series(i)
