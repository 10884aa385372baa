set xlabel 'largest value of a pixel'
set ylabel 'share of the images'
set logscale x 2
set format y '%g %%'
set yrange [0:100]
plot 'data.csv' using (x_of(series(1))):(100 * column(5)) with lines linetype 1 linewidth 4 title series(1), \
    '' using (x_of(series(2))):(100 * column(5)) with points linetype 2 pointsize 1.8 title series(2)
