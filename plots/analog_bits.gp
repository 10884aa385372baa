# Accuracy against the bits of a device: the middle of the seeds with their range, over the band of fp32's seeds.
set xlabel 'bits of a device'
set ylabel 'accuracy'
set format y '%g %%'
set yrange [0:100]
set xtics 1
set autoscale xfix
set offsets 0.3, 0.3, 0, 0
stats 'data.csv' using (x_of('digital fp32')):5 nooutput name 'digital'
set object 1 rectangle from graph 0,first 100 * digital_min_y to graph 1,first 100 * digital_max_y behind \
    fillcolor rgb 0x777777 fillstyle solid 0.4 noborder
plot 'data.csv' using (x_of('accumulator')):(100 * column(5)) with linespoints linetype 1 pointsize 1.3 \
        title 'with a digital accumulator', \
    '' using (x_of('nearest step')):(100 * column(5)) with linespoints linetype 2 pointsize 1.3 \
        title 'each update to the nearest step', \
    '' using (x_of('accumulator range')):(100 * column(5)) with points linetype 1 pointtype 2 pointsize 0.7 notitle, \
    '' using (x_of('nearest step range')):(100 * column(5)) with points linetype 2 pointtype 2 pointsize 0.7 notitle, \
    NaN with lines linecolor rgb 0x777777 linewidth 6 title 'fp32, all seeds'
