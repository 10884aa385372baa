count = series_count / 2
set multiplot title title_text noenhanced font large layout 1,2 margins 0.125,0.98,0.215,0.85 spacing 0.09
set key inside vertical bottom right font small
set xlabel 'exponent of the products, c = 1'
set ylabel 'share of their sum that is kept'
set ytics 0,20,140
set format x '2^{%g}'
set format y '%g %%'
set yrange [0:145]
set xtics 2
set title 'fp32 accumulator' font small offset 0,-0.3
set xrange [-28.5:-15.5]
plot for [i=1:count] 'data.csv' using (x_of(series(i))):(100 * column(5)) with linespoints linetype i linewidth (8 - 1.6*i) \
    title word(series(i), 1) noenhanced
unset label 1000
set title 'fp16 accumulator' font small offset 0,-0.3
set ylabel ''
set xrange [-18.5:-5.5]
plot for [i=1:count] 'data.csv' using (x_of(series(i + count))):(100 * column(5)) with linespoints linetype i \
    linewidth (8 - 1.6*i) title word(series(i + count), 1) noenhanced
unset multiplot
