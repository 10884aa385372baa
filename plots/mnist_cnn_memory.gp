set xlabel 'images in a batch'
set ylabel 'GiB'
set yrange [0:*]
set xrange [0:1200]
stats 'data.csv' using (x_of(series(3))):5 nooutput
set arrow 1 from graph 0,first STATS_max_y to graph 1,first STATS_max_y nohead linecolor rgb mark_colour dashtype 2
set label 1 'what 590 images take in fp32' at graph 0.99,first STATS_max_y right offset 0,0.7 font small textcolor rgb mark_colour
plot for [i=1:2] 'data.csv' using (x_of(series(i))):5 with lines linetype i title series(i) noenhanced, \
    for [i=3:4] 'data.csv' using (x_of(series(i))):5 with points linetype i-2 pointsize 2.2 notitle, \
    for [i=3:4] '' using (x_of(series(i))):5:(series(i)) with labels offset 0,-1.2 left font small notitle
