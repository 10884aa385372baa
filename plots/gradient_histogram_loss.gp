set logscale y 10
set xlabel 'step'
set ylabel 'loss'
plot for [i=1:2] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth (i == 1 ? 5 : 1.5) title series(i) noenhanced
