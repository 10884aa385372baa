set key bottom left
set xrange [0:*]
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth (i == 1 ? 6 : (i == 2 ? 3.5 : 2)) dashtype 0+(i == 3 ? 2 : 1) title series(i) noenhanced
