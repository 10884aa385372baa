set xlabel 'step'
set ylabel 'share of the gradients'
set format y '%g %%'
set yrange [0:*]
set offsets 0,0,graph 0.15,0
plot for [i=1:3] 'data.csv' using (x_of(series(2 * i - 1))):(100 * column(5)) with lines linetype i linewidth 4 title series(2 * i - 1), \
    for [i=1:3] '' using (x_of(series(2 * i))):(100 * column(5)) with points linetype i pointsize 1.6 title series(2 * i)
