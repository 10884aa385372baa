set xlabel 'logit of each of the ten classes'
set ylabel 'sum of the ten probabilities'
set xrange [0:98]
set yrange [-0.35:1.6]
set ytics 0,0.5,1
not_a_number(name) = strcol(1) eq figure && strcol(2) eq name && strcol(5) eq 'nan' ? -0.2 : NaN
lift(i) = 0.02 * (i - 2)
set label 1 'NaN' at 1,-0.2 font ',13' textcolor rgb mark_colour
set key horizontal
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype i linewidth (9 - 2*i) title series(i), \
    for [i=1:series_count] 'data.csv' using 3:(not_a_number(series(i)) - 0.04*(i-1)) with points linetype i pointtype 2 pointsize 0.5 notitle
