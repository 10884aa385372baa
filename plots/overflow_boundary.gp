set xlabel 'N, number of sixteens'
set ylabel 'sum'
set format y '%.0f'
set yrange [65360:65620]
set ytics 65376,32,65600
set xrange [4085:4101]
set arrow 1 from graph 0,first 65504 to graph 1,first 65504 nohead linecolor rgb mark_colour dashtype 2
set label 1 '65504, the largest fp16 number' at graph 0.99,first 65504 right offset 0,-0.8 font small textcolor rgb mark_colour
set arrow 2 from graph 0,first 65520 to graph 1,first 65520 nohead linecolor rgb mark_colour dashtype 3
set label 2 '65520, half way to 65536' at graph 0.01,first 65520 offset 0,0.7 font small textcolor rgb mark_colour
infinite(name) = strcol(1) eq figure && strcol(2) eq name && strcol(5) eq 'inf' ? 65604 : NaN
plot 'data.csv' using (x_of(series(1))):5 with lines linecolor rgb mark_colour linewidth 1.5 title 'exact sum', \
    '' using (x_of(series(2))):5 with points linetype 1 pointsize 1.3 title 'rounded to fp16', \
    '' using 3:(infinite(series(2))) with points linetype 2 pointtype 2 pointsize 1.3 title 'rounded to fp16: infinity'
