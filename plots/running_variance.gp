set xlabel 'step'
set ylabel 'running variance'
set xrange [0:*]
set yrange [0:1.05]
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth 2 + 2 * (series_count - i) / series_count title series(i) noenhanced
