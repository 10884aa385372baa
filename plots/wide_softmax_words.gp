set xlabel 'rank of the word'
set ylabel 'probability of a word'
set logscale x 2
set logscale y 10
set format x '%g'
set format y '10^{%L}'
set offsets 0,0,graph 0.1,0
set arrow 1 from graph 0,first invisible to graph 1,first invisible nohead dashtype 2
set label 1 'no push down below' at graph 0.02,first invisible offset 0,-0.7 font small
plot 'data.csv' using (x_of(series(1))):5 with lines linetype 3 linewidth 4 title series(1), \
    '' using (x_of(series(2))):5 with linespoints linetype 1 linewidth 5 pointsize 2.2 title series(2), \
    '' using (x_of(series(3))):5 with linespoints linetype 2 pointsize 1.3 title series(3)
