# Pairs of curves: what was predicted, dashed, and what was measured.
set xlabel 'step'
set ylabel 'weights that stand still'
set format y '%g %%'
set yrange [0:100]
set xrange [0:*]
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):(100 * column(5)) with lines \
    linetype ((i + 1) / 2) dashtype 1 + i % 2 linewidth 2 + 0.5 * (i % 2) title series(i) noenhanced
