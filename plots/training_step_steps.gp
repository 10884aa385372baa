set logscale y 2
set format y '2^{%L}'
set ylabel 'magnitude of the gradients'
set xrange [4.6:9.4]
set yrange [2**-30:2**6]
set xtics ("5: backward\nin fp16" 5, "6: copied\nto fp32" 6, "7: divided\nby 128" 7, "8: clipped" 8, "9: update\n(rate 0.1)" 9) scale 0 font small
set bmargin 7
set key off
set object 1 rectangle from 4.6,2**-25 to 5.5,2**-14 behind fillcolor rgb 0x999999 fillstyle solid 0.25 noborder
set object 2 rectangle from 4.6,2**-30 to 5.5,2**-25 behind fillcolor rgb 0x999999 fillstyle solid 0.6 noborder
set label 1 'subnormal in fp16' at 4.65,2**-15 left font tiny
set label 2 'lost in fp16' at 4.65,2**-26 left font tiny
set style fill solid 0.35 noborder
plot 'data.csv' using (x_of('largest')):5 with linespoints linetype 1 pointsize 1.6 title 'largest', \
    '' using (x_of('smallest')):5 with linespoints linetype 1 pointsize 1.6 title 'smallest', \
    '' using (x_of('largest') == 6 ? 6.1 : NaN):5:('largest') with labels left offset 0,0.5 font small notitle, \
    '' using (x_of('smallest') == 6 ? 6.1 : NaN):5:('smallest that is not 0') with labels left offset 0,0.5 font small notitle
