set logscale xy
set logscale x 2
set format x '2^{%L}'
set format y '10^{%T}'
set xlabel 'k, products in a sum'
set ylabel 'relative error of the result'
set key inside vertical bottom right maxrows 6 font tiny
set yrange [1e-9:1]
half = series_count / 2
plot for [i=1:half] 'data.csv' using (x_of(series(i))):5 with linespoints linetype i pointsize 0.8 \
        linewidth (series(i) eq 'H100 fp32' ? 6 : 2.5) title series(i).' accumulator', \
    for [i=1:half] '' using (x_of(series(half+i))):5 with linespoints linetype i dashtype 2 pointsize 0.8 \
        linewidth (series(half+i) eq 'H100 fp16' ? 6 : 2.5) title series(half+i).' accumulator'
