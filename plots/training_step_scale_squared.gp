set xlabel 'step'
set ylabel 'loss'
set logscale y 10
set label 1 'then NaN' at 1.6,20000 left font small
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with linespoints linetype (3 - i) title series(i)
