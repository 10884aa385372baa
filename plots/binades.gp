# Histograms over binades from `first_binade` to `last_binade`, with what fp16 loses.
set format x '2^{%g}'
set format y '%g %%'
set xrange [first_binade:last_binade]
tic_distance = last_binade - first_binade > 40 ? 8 : 4
set xtics tic_distance
set yrange [0:*]
set offsets 0,0,graph 0.2,0
set object 1 rectangle from graph 0,graph 0 to first -25,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.45 noborder
set object 2 rectangle from first -25,graph 0 to first -14,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.18 noborder
set label 1 'lost in fp16' at graph 0.03,graph 0.95 font small
set label 2 'subnormal' at first -24.5,graph 0.95 font small
plot for [i=1:series_count] 'data.csv' using (x_of(series(i)) + 0.5):(100 * column(5)) with boxes linetype i fillstyle transparent solid 0.45 noborder title series(i)
