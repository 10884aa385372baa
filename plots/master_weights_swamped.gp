set xlabel 'learning rate'
set ylabel 'share of the updates'
set format x '2^{%g}'
set format y '%g %%'
set yrange [0:100]
set xtics 1
set tmargin 6.6   # three rows of the key
set title offset 0,2.9
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):(100 * column(5)) with linespoints \
    linetype ((i - 1) / 3 + 1) dashtype 1 + (i - 1) % 3 pointtype (5 + 2 * ((i - 1) % 3)) pointsize 1.1 title series(i)
