set logscale y 10
set format y '10^{%L}'
set xlabel 'magnitude'
set ylabel 'numbers'
stats 'data.csv' using (x_of(series(1))):5 nooutput
set yrange [1:STATS_max_y * 3]
set xrange [0:STATS_max_x * 1.3]
set boxwidth STATS_max_x / 63.5   # 64 bars; the last one's middle is the largest x
set clip two
plot 'data.csv' using (x_of(series(1))):5 with boxes linecolor rgb 0xBBBBBB title 'numbers', \
    for [i=2:4] '' using (x_of(series(i))):5 with lines linetype i-1 linewidth (i == 4 ? 7 : 3) dashtype i-1 title series(i)
