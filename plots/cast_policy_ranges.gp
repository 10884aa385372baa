set logscale xy 2
set format xy '2^{%L}'
set xlabel 'x'
set ylabel 'f(x) in fp16'
set xrange [2**-14:2**16]
set yrange [2**-25:2**19]
set xtics 2**-14,16
set ytics 2**-24,16
set arrow 1 from graph 0,first 65504 to graph 1,first 65504 nohead linecolor rgb mark_colour dashtype 3 linewidth 2
set arrow 2 from graph 0,first 2**-14 to graph 1,first 2**-14 nohead linecolor rgb mark_colour dashtype 3 linewidth 2
set label 1 'largest' at graph 0.99,first 2**16.8 right font small textcolor rgb mark_colour
set label 2 'smallest normal' at graph 0.01,first 2**-14.9 left font small textcolor rgb mark_colour
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth (i > 3 ? 4 : 2) title series(i)
