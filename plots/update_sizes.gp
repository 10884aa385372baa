# Bars by binade; x is the exponent of its lower end, in ulps of the weight in bf16. Half an ulp is 2^-1; fp16's lies 3
# binades below.
set format x '2^{%g}'
set format y '%g %%'
set yrange [0:*]
set offsets 0,0,graph 0.12,0
set xrange [-16:9]
set boxwidth 0.9
set arrow from -1,graph 0 to -1,graph 1 nohead linetype 1 linecolor rgb mark_colour linewidth 2 front
set label 'half an ulp in bf16' at -0.8,graph 0.95 left font small front
if (!exists('bf16_alone')) {
    set arrow from -4,graph 0 to -4,graph 1 nohead linetype 1 linecolor rgb mark_colour linewidth 2 dashtype 2 front
    set label 'half an ulp in fp16' at -4.2,graph 0.95 right font small front
}
if (series_count == 1) { set key off }
plot for [i=1:series_count] 'data.csv' using (x_of(series(i)) + 0.5):(100 * column(5)) with boxes linetype i \
    fillstyle solid (series_count == 1 ? 0.75 : 0.45) title series(i) noenhanced
