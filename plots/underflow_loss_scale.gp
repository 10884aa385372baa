set xlabel 'loss scale'
set ylabel 'share of the gradients'
set format x '2^{%g}'
set format y '%g %%'
set xrange [-0.5:32.5]
set yrange [0:100]
set xtics 4
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):(100 * column(5)) with linespoints linetype i title series(i)
