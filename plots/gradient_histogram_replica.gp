set xlabel 'binade'
set ylabel 'share of all numbers'
set format x '2^{%g}'
set format y '%g %%'
set xrange [-48:4]
set xtics 8
set yrange [0:*]
set offsets 0,0,graph 0.2,0
set object 1 rectangle from first -48,graph 0 to first -25,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.45 noborder
set object 2 rectangle from first -25,graph 0 to first -14,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.18 noborder
set label 1 'lost in fp16' at first -46.5,graph 0.95 font small
set label 2 'subnormal' at first -24.5,graph 0.95 font small
plot 'data.csv' using (x_of(series(1))):(100 * column(5)) with boxes linetype 1 fillstyle transparent solid 0.45 noborder title series(1), \
    '' using (x_of(series(2))):(100 * column(5)) with boxes linetype 2 fillstyle transparent solid 0.45 noborder title series(2), \
    '' using (x_of(series(3))):(100 * column(5)) with steps linetype 3 title series(3)
