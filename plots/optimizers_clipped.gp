set xlabel 'step'
set ylabel 'share of the updates'
set format y '%g %%'
set yrange [0:105]
set key bottom right
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):(100 * column(5)) with lines linetype i \
    linewidth (i == 1 ? 7 : 2.5) title series(i)
