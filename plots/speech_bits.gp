# A score by the weights' fraction bits. Series: with masters, their range, without, their range, fp32's range.
stats 'data.csv' using (x_of(series(5))):5 nooutput
set xlabel 'fraction bits of the weights (fp16: 10)'
set xrange [10.4:2.6] reverse
set xtics 1
set yrange [0:*]
set offsets 0,0,graph 0.1,0
if (STATS_max_y > STATS_min_y) {
    set object 1 rectangle from graph 0,first STATS_min_y to graph 1,first STATS_max_y behind fillcolor rgb 0x777777 fillstyle solid 0.25 noborder
}
plot for [s=1:3:2] 'data.csv' using (x_of(series(s))):5 with linespoints linetype (s + 1) / 2 pointsize 1.3 title series(s), \
    for [s=2:4:2] for [n=3:10] '' using (x_of(series(s)) == n ? n : NaN):5 with lines linetype s / 2 linewidth 5 notitle
