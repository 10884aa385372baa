set xlabel 'loss scale'
set ylabel 'accuracy'
set format x '2^{%g}'
set format y '%g %%'
set xrange [-0.7:*]
set offsets 0, 0.7, 0, 0
set yrange [0:100]
set xtics 4
stats 'data.csv' using (x_of('predicted window')) nooutput name 'window'
set object 1 rectangle from window_min - 0.5,graph 0 to window_max + 0.5,graph 1 behind fillcolor rgb 0x009E73 \
    fillstyle solid 0.13 noborder
set label 1 'predicted to work' at 0.5 * (window_min + window_max),12 center font small textcolor rgb 0x00704F
plot 'data.csv' using (x_of('fp32 least')):(100 * column(5)) with lines linecolor rgb 0x000000 linewidth 1.5 dashtype 2 \
        title 'fp32, minimum and maximum', \
    '' using (x_of('fp32 largest')):(100 * column(5)) with lines linecolor rgb 0x000000 linewidth 1.5 dashtype 2 notitle, \
    '' using (x_of('moving scale')):(100 * column(5)) with lines linetype 3 linewidth 5 title 'fp16, dynamic scale', \
    '' using (x_of('constant scale')):(100 * column(5)) with linespoints linetype 1 pointsize 1.3 title 'fp16, constant scale', \
    '' using (x_of('least')):(100 * column(5)) with points linetype 1 pointtype 2 pointsize 0.7 title 'its minimum and maximum', \
    '' using (x_of('largest')):(100 * column(5)) with points linetype 1 pointtype 2 pointsize 0.7 notitle
