set ylabel 'points of top-1 accuracy'
set yrange [-0.8:1.1]
set xrange [-0.6:5.6]
set xtics ('AlexNet' 0, 'VGG-D' 1, 'GoogLeNet' 2, 'Inception v2' 3, 'Inception v3' 4, 'ResNet-50' 5) nomirror
set arrow 1 from graph 0,first 0 to graph 1,first 0 nohead linecolor rgb mark_colour
bound = series(2)
bounds_of = 'two standard deviations of the difference, by the test images alone'
plot 'data.csv' using (x_of(bound)):(-column(5)):(0):(2*column(5)) with vectors nohead linetype 6 linewidth 12 title bounds_of, \
    '' using (x_of(series(1))):5 with points linetype 1 pointtype 7 pointsize 2 title series(1)
