# Pairs of series: a line predicted, marks counted.
set format y '%g %%'
set yrange [0:*]
set offsets 0,0,graph 0.15,0
plot for [i=1:int(pairs)] 'data.csv' using (x_of(series(2 * i - 1))):(100 * column(5)) with lines linetype i linewidth 4 title series(2 * i - 1), \
    for [i=1:int(pairs)] '' using (x_of(series(2 * i))):(100 * column(5)) with points linetype i pointsize 1.6 title series(2 * i)
