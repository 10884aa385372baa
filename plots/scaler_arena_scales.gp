set tmargin 7.6   # four rows of the key
set title offset 0,3.9
set xlabel 'step'
set ylabel 'loss scale'
set logscale y 2
set format y '2^{%L}'
set yrange [2**12:*]
plot 'data.csv' using (x_of('ceiling')):5 with lines linecolor rgb 0xBBBBBB linewidth 3 title 'largest that fits', \
    for [i=2:8] '' using (x_of(series(i))):5 with steps linetype i - 1 linewidth 2 title series(i) noenhanced, \
    '' using (x_of(series(9))):5 with lines linecolor rgb 0x000000 dashtype 2 linewidth 3 title series(9), \
    '' using (x_of(series(10))):5 with lines linecolor rgb 0x000000 dashtype 3 linewidth 3 title series(10) noenhanced
