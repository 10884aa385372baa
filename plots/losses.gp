# The first series is the outline of the reference's seeds; then a mean curve for each arithmetic.
set key top right
set xrange [0:*]
plot 'data.csv' using (x_of(series(1))):5 with filledcurves closed linecolor rgb 0x0072B2 fillstyle solid 0.18 noborder title series(1) noenhanced, \
    for [i=2:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i-1 linewidth (i == 2 ? 4 : 2) title series(i) noenhanced
