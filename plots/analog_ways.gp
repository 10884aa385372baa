# Bars; x is the number of the way to update. After each series, its range.
ways = series_count / 2
set xrange [-0.6:ways - 0.4]
set yrange [0:100]
set format y '%g %%'
set ylabel 'accuracy'
set ytics 0,20,100
set grid noxtics
set key off
set boxwidth 0.5
set xtics () scale 0
do for [i=1:ways] { set xtics add (series(2 * i - 1) i - 1) }
plot for [i=1:ways] 'data.csv' using (x_of(series(2 * i - 1))):(100 * column(5)) with boxes linetype (i == 1 ? 8 : i - 1) title series(2 * i - 1), \
    for [i=1:ways] '' using (x_of(series(2 * i))):(100 * column(5)) with lines linecolor rgb 0x333333 linewidth 2 notitle
