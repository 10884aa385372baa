# Two panels of the same multipliers: positive entries, and entries that cancel.
set multiplot title title_text noenhanced font large layout 1,2 margins 0.125,0.98,0.215,0.85 spacing 0.06
set logscale xy
set logscale x 2
set format x '2^{%L}'
set format y '10^{%T}'
set yrange [1e-9:1]
set xlabel 'k, products in a sum'
set ylabel 'relative error of the result'
set key vertical left top at graph 0.03,0.46 font tiny
half = series_count / 2
name(i) = series(i)[1:strstrt(series(i), i > half ? ' centred' : ' positive')-1]
set title 'entries uniform in (0, 1)' font small offset 0,-0.3
plot for [i=1:half] 'data.csv' using (x_of(series(i))):5 with linespoints linetype i pointsize 0.9 title name(i)
unset label 1000
set ylabel ''
set format y ''
unset key
set title 'standard normal entries' font small offset 0,-0.3
plot for [i=half+1:series_count] 'data.csv' using (x_of(series(i))):5 with linespoints linetype i-half pointsize 0.9 notitle
unset multiplot
