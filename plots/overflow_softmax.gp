set xlabel 'logit of each of the ten classes'
set ylabel 'sum of the ten probabilities'
set xrange [0:98]
set yrange [-0.45:1.1]
set ytics 0,0.5,1
not_a_number(i) = strcol(1) eq figure && strcol(2) eq series(i) && strcol(5) eq 'nan' ? -0.15 - 0.06 * i : 1/0
set label 1 'NaN' at 1,-0.3 font small textcolor rgb mark_colour
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth (10 - 2*i) title series(i), \
    for [i=1:series_count-1] '' using 3:(not_a_number(i)) with points linetype i pointtype 2 pointsize 0.5 notitle
