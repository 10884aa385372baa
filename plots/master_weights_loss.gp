set xlabel 'step'
set ylabel 'loss'
set key top right font small
set yrange [0:4]
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i \
    linewidth (i == 1 ? 9 : i == 2 ? 5 : 2.5) title series(i)
