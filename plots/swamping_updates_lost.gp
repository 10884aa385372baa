set xlabel 'size of the update relative to the parameter'
set ylabel 'share of updates that change nothing'
set xrange [-14:-6]
set xtics 1
set format x '2^{%g}'
set format y '%g %%'
set yrange [0:100]
set arrow 1 from -11,graph 0 to -11,graph 1 nohead linecolor rgb mark_colour dashtype 2 linewidth 1.5
set label 1 "the published rule:\nlost left of this line" at -11,graph 0.5 left offset 0.7,0 font small textcolor rgb mark_colour
plot for [i=1:2] 'data.csv' using (x_of(series(i))):(100 * column(5)) with linespoints linetype i title series(i)
