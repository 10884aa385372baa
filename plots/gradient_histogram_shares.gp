width = 0.8 / series_count
set boxwidth width * 0.9
set xrange [-0.55:4.55]
set yrange [0:100]
set format y '%g %%'
set ylabel 'share of the tensor'
set xtics ("zero in fp32" 0, "subnormal\nin fp16" 1, "lost\nin fp16" 2, "subnormal,\nscaled" 3, "lost,\nscaled" 4) scale 0
set bmargin 6.5
label_of(share) = share < 0.0005 ? '' : sprintf(share < 0.0995 ? '%.1f' : '%.0f', 100 * share)
set grid noxtics
at(i) = width * (i - 0.5 * (series_count + 1))
plot for [i=1:series_count] 'data.csv' using (x_of(series(i)) + at(i)):(100 * column(5)) with boxes linetype i \
        title 'gradient of ' . word(series(i), 2), \
    for [i=1:series_count] '' using (x_of(series(i)) + at(i)):(100 * column(5)):(label_of(column(5))) \
        with labels offset 0,0.5 font tiny notitle
