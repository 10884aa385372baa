width = 0.8 / series_count
set boxwidth width * 0.9
set xrange [-0.55:2.55]
set yrange [0:107]   # above 100 only the bars' numbers
set ytics 0,20,100
label_of(share) = share < 0.0005 ? '' : sprintf(share < 0.0995 ? '%.1f' : '%.0f', 100 * share)
set format y '%g %%'
set ylabel 'share of the gradients'
set xtics ('normal' 0, 'subnormal' 1, 'lost: zero' 2) scale 0
set grid noxtics
at(i) = width * (i - 0.5 * (series_count + 1))
plot for [i=1:series_count] 'data.csv' using (x_of(series(i)) + at(i)):(100 * column(5)) with boxes linetype i title series(i), \
    for [i=1:series_count] '' using (x_of(series(i)) + at(i)):(100 * column(5)):(label_of(column(5))) \
        with labels offset 0,0.5 font tiny notitle
