# Two bars a rule: x = 0 kept, x = 1 broken. After each series, its range.
rules = series_count / 2
set xrange [-0.6:rules - 0.4]
set yrange [0:100]
set ytics 0,20,100
set format y '%g %%'
set ylabel 'accuracy'
set xlabel 'the rule that is broken'
set xtics () scale 0 font tiny
do for [i=1:rules] { set xtics add (series(2 * i - 1) i - 1) }
set boxwidth 0.38
set grid noxtics
plot for [i=1:rules] 'data.csv' using (x_of(series(2 * i - 1)) == 0 ? i - 1.2 : NaN):(100 * column(5)) \
        with boxes linetype 1 title (i == 1 ? 'kept' : ''), \
    for [i=1:rules] '' using (x_of(series(2 * i - 1)) == 1 ? i - 0.8 : NaN):(100 * column(5)) \
        with boxes linetype 2 title (i == 1 ? 'broken' : ''), \
    for [i=1:rules] for [n=0:1] '' using (x_of(series(2 * i)) == n ? i - 1.2 + 0.4 * n : NaN):(100 * column(5)) \
        with lines linecolor rgb 0x333333 linewidth 2 notitle
