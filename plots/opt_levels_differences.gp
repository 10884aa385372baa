# Categories on x: `names`. Series: quoted differences, fp32's spread, then the levels.
set ylabel 'points'
set xrange [-0.7:words(names)-0.3]
set xtics () scale 0 rotate by -25
set for [i=1:words(names)] xtics add (word(names, i) i - 1)
set bmargin 8.5
set grid noxtics
set offsets 0,0,graph 0.3,graph 0.1
set autoscale y
set key top left maxrows 2
set arrow 1 from -0.7,0 to words(names)-0.3,0 nohead linecolor rgb mark_colour linewidth 1
set arrow 2 from 5.5,graph 0 to 5.5,graph 1 nohead linecolor rgb mark_colour dashtype 2
plot 'data.csv' using (x_of(series(2))):(0):(column(5)) with yerrorbars linecolor rgb 0xBBBBBB linewidth 9 pointtype -1 title 'spread of fp32 over seeds', \
    '' using (x_of(series(1))):5 with points linetype 8 pointtype 7 pointsize 1.8 title 'quoted', \
    for [i=3:series_count] '' using (x_of(series(i)) + 0.16 * (i - 4)):5 with points linetype i-2 pointsize 1.8 title series(i)
