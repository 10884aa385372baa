set xlabel 'step'
set ylabel 'loss'
set logscale y 10
if (ended) { set label 1 'then not finite' at last_step,last_loss left offset 1.5,0 font small }
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with linespoints linetype (3 - i) title series(i)
