# Over training steps, or, where `steps` is 0, over numbers of weights.
if (!steps) {
    set logscale x 2
    set format x '2^{%L}'
}
set format y '%g %%'
set yrange [0:110]
plot 'data.csv' using (x_of(series(1))):(100 * column(5)) with lines linetype 1 linewidth 4 title series(1), \
    for [i=2:3] '' using (x_of(series(i))):(100 * column(5)) with points linetype i pointsize 1.3 title series(i)
