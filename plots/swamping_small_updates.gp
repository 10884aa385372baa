set xlabel 'updates'
set ylabel 'parameter'
set xrange [0:*]
set yrange [0:2.1]
plot for [i=1:6] 'data.csv' using (x_of(series(i))):5 with lines linetype (i - 1) % 3 + 1 dashtype 1+(i>3) \
    linewidth (i % 3 == 2 ? 6 : 3) title series(i)
