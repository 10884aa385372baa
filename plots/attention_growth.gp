set xlabel 'step'
set ylabel 'largest product'
set logscale y 2
set format y '2^{%L}'
set xrange [0:*]
set yrange [*:*]
set offsets 0,0,graph 0.1,graph 0.1
set object 1 rectangle from graph 0,first 65520 to graph 1,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.45 noborder
set label 1 'infinite in fp16' at graph 0.03,graph 0.95 font small
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth 2 + 2 * (series_count - i) / series_count title series(i) noenhanced, \
    '' using (x_of(series(2))):5 with points linetype 2 pointsize 0.9 notitle   # where the line is a single point
