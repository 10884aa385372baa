set xlabel 'step'
set ylabel 'loss'
set logscale y 10
set key bottom left font small
# fp32 wide and grey below the rest; red what runs without scales.
colour(i) = word('0xBBBBBB 0x0072B2 0x009E73 0xE69F00 0xD55E00 0xCC79A7 0x56B4E9 0xA03000 0x8C7A10', i)
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linecolor rgb int(colour(i)) \
    linewidth (i == 1 ? 10 : i == 5 ? 8 : 2.5) title series(i)
