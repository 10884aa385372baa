set tmargin 7.6   # four rows of the key
set title offset 0,3.9
set xlabel 'share of the steps skipped'
set ylabel 'powers of two below the largest scale that fits'
set format x '%g %%'
set xrange [-0.4:*]
set yrange [0:*]
set offsets 0, 0, graph 0.05, 0
plot for [i=1:series_count] 'data.csv' using (100 * x_of(series(i))):5 with points linetype i pointsize 2.5 title series(i) noenhanced
