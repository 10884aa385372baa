set logscale xy
set tmargin 7.6   # four rows of the key
set title offset 0,3.9
set xlabel 'operations for each byte moved'
set ylabel '10^{12} operations per second'
set xrange [0.7:4096]
set yrange [0.25:300]
set logscale x 2
plot for [i=1:2] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth 4 title series(i), \
    for [i=3:series_count] '' using (x_of(series(i))):5 with points linetype i pointtype (i == 3 ? 7 : 2*i-1) pointsize 1.8 \
        title series(i)
