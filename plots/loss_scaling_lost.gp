set xlabel 'loss scale'
set ylabel 'share of the gradients'
set format x '2^{%g}'
set format y '%g %%'
set xrange [-0.7:*]
set offsets 0, 0.7, 0, 0
set yrange [0:*]
set xtics 4
plot 'data.csv' using (x_of('predicted')):(100 * column(5)) with lines linetype 1 linewidth 4 title 'predicted from the exponents in fp32', \
    '' using (x_of('measured')):(100 * column(5)) with points linetype 2 pointsize 1.6 title 'counted in the fp16 runs'
