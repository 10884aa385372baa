set ylabel 'points'
set xlabel 'calibration batches'
set xrange [-0.5:2.5]
set xtics ('5' 0, '10' 1, '50' 2) scale 0
set grid noxtics
set offsets 0,0,graph 0.15,graph 0.15
set autoscale y
set arrow 1 from -0.5,0 to 2.5,0 nohead linecolor rgb mark_colour linewidth 1
plot 'data.csv' using (x_of(series(4)) + 0.3):5 with points linetype 8 pointtype 7 pointsize 1.3 title 'six networks on ImageNet, quoted', \
    for [i=1:3] '' using (x_of(series(i)) + 0.18 * (i - 2) - 0.1):5 with points linetype i pointsize 1.8 title series(i)
