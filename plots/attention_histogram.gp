set xlabel 'binade of the product'
set ylabel 'share of the products'
set format x '2^{%g}'
set format y '%g %%'
set xrange [0:20]
set xtics 4
set yrange [0:*]
set offsets 0,0,graph 0.2,0
set object 1 rectangle from first 16,graph 0 to graph 1,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.45 noborder
set label 1 'infinite in fp16' at first 16.3,graph 0.95 font small
plot for [i=1:series_count] 'data.csv' using (x_of(series(i)) + 0.5):(100 * column(5)) with boxes linetype i fillstyle transparent solid 0.45 noborder title series(i)
