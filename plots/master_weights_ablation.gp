# Two bars a way to update: x = 0 the ordinary net, x = 1 the net of signs. After each series, its range.
ways = series_count / 2
set xrange [-0.6:ways - 0.4]
set yrange [0:100]
set format y '%g %%'
set ylabel 'accuracy'
set ytics 0,20,100
unset xtics
set bmargin 10
set lmargin 13
set boxwidth 0.38
set grid noxtics
do for [i=1:ways] { set label 10 + i series(2 * i - 1) at i - 0.85, graph -0.03 right rotate by 25 font tiny }
plot for [i=1:ways] 'data.csv' using (x_of(series(2 * i - 1)) == 0 ? i - 1.2 : NaN):(100 * column(5)) \
        with boxes linetype 1 title (i == 1 ? 'small initial weights' : ''), \
    for [i=1:ways] '' using (x_of(series(2 * i - 1)) == 1 ? i - 0.8 : NaN):(100 * column(5)) \
        with boxes linetype 2 title (i == 1 ? 'weights of size 1' : ''), \
    for [i=1:ways] for [n=0:1] '' using (x_of(series(2 * i)) == n ? i - 1.2 + 0.4 * n : NaN):(100 * column(5)) \
        with lines linecolor rgb 0x333333 linewidth 2 notitle
