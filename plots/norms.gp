set xlabel 'N, number of fours'
set ylabel 'L2 norm'
set xrange [0:6300]
set yrange [0:390]
set ytics 0,50,300
set object 1 rectangle from graph 0,first 350 to graph 1,first 380 behind fillcolor rgb 0xEEEEEE fillstyle solid border rgb 0xBBBBBB
set label 2 'infinite' at graph 0.55,first 365 right font tiny
infinite(name) = strcol(1) eq figure && strcol(2) eq name && strcol(5) eq 'inf' ? 365 : NaN
array colour_of[3] = [8, 2, 5]   # fp32, fp16 pairwise, fp16 one by one
plot for [i=1:series_count] 'data.csv' using (x_of(series(i))):5 with lines linetype colour_of[i] linewidth (i == 1 ? 7 : 3) \
        title series(i), \
    4 * sqrt(x) with lines linecolor rgb 0x000000 linewidth 1.5 dashtype 2 title 'exact', \
    'data.csv' using 3:(infinite(series(2))) with points linetype 2 pointtype 2 pointsize 0.8 * mark_scale title 'fp16 pairwise: infinity'
