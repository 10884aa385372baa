set xlabel 'tokens of a batch'
set ylabel 'loss, nats'
set logscale x 4
set xrange [3000:*]
set yrange [0:*]
set offsets 0,0,graph 0.1,0
plot 'data.csv' using (x_of(series(1))):5 with linespoints linetype 1 linewidth 4 pointsize 1.3 title series(1), \
    '' using (x_of(series(2))):5 with lines linetype 3 linewidth 4 title series(2), \
    '' using (x_of(series(3))):5 with points linetype 2 pointsize 1.8 title series(3)
