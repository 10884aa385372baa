# Sums that are infinite are crosses in the strip above the range, a row each.
set logscale xy 2
set format xy '2^{%L}'
set xrange [16:2**18.3]
set yrange [4:2**25]
set ytics 2**4,2**4,2**20
set tmargin 7.6   # four rows of the key
set title offset 0,3.9
set xlabel 'pixels added up'
set ylabel 'largest entry'
set arrow 1 from graph 0,first 65504 to graph 1,first 65504 nohead linecolor rgb mark_colour dashtype 2
set label 1 'largest fp16 number 65504' at graph 0.30,first 65504 left offset 0,0.6 font tiny textcolor rgb mark_colour
set label 2 'infinite' at graph 0.01,first 2**23.1 left font tiny textcolor rgb mark_colour
set arrow 2 from graph 0,first 2**21.2 to graph 1,first 2**21.2 nohead linecolor rgb mark_colour
finite(name) = strcol(5) eq 'inf' ? NaN : x_of(name)
infinite(name, row) = strcol(1) eq figure && strcol(2) eq name && strcol(5) eq 'inf' ? 2**(25.6 - 0.55 * row) : NaN
plot for [i=1:series_count] 'data.csv' using (finite(series(i))):5 with linespoints linetype i \
        linewidth (i == 1 || i == 6 ? 8 : 3) pointsize (i == 1 || i == 6 ? 0.01 : 0.7) title series(i) noenhanced, \
    for [i=1:series_count] '' using 3:(infinite(series(i), i)) with points linetype i pointtype 2 pointsize 0.8 notitle
