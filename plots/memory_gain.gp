set xlabel 'r, activations for each parameter'
set ylabel 'bytes in fp32 / bytes in mixed precision'
set yrange [1:2]
set xrange [0:60]
plot 'data.csv' using (x_of(series(1))):5 with lines linecolor rgb mark_colour linewidth 2 title series(1), \
    for [i=2:3] '' using (x_of(series(i))):5 with points linetype i pointsize 1.8 title series(i)
