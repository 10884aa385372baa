# Bars by optimizer (x), one colour a format. After each series, its range.
names = '"SGD, momentum" "Adam" "Adagrad" "Sophia"'
ways = series_count / 2
set xrange [-0.6:3.6]
set yrange [0:115]
set ytics 0,20,100
set format y '%g %%'
set ylabel 'accuracy'
set xtics () scale 0
do for [i=1:words(names)] { set xtics add (word(names, i) i - 1) }
set boxwidth 0.25
set grid noxtics
set key top right horizontal
plot for [i=1:ways] 'data.csv' using (x_of(series(2 * i - 1)) + 0.27 * (i - 2)):(100 * column(5)) \
        with boxes linetype i title series(2 * i - 1), \
    for [i=1:ways] for [w=0:3] '' using (x_of(series(2 * i)) == w ? w + 0.27 * (i - 2) : NaN):(100 * column(5)) \
        with lines linecolor rgb 0x333333 linewidth 2 notitle
