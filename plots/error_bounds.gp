# Four series a unit: its bound, the one by its partial sums, the error expected on average, the largest one measured.
set logscale xy
set logscale x 2
set format x '2^{%L}'
set format y '10^{%T}'
set xlabel 'k, products in a sum'
set ylabel 'error over the sum of the magnitudes'
set rmargin 21
set key vertical at graph 1.02,1 left top font tiny
plot for [i=1:series_count:4] 'data.csv' using (x_of(series(i))):5 with lines linetype (i+3)/4 title series(i), \
    for [i=2:series_count:4] '' using (x_of(series(i))):($5 > 0 ? $5 : NaN) with lines linetype (i+2)/4 dashtype 2 notitle, \
    for [i=3:series_count:4] '' using (x_of(series(i))):($5 > 0 ? $5 : NaN) with lines linetype (i+1)/4 dashtype 3 notitle, \
    for [i=4:series_count:4] '' using (x_of(series(i))):5 with points linetype i/4 pointsize 1.2 notitle
