set xlabel 'step'
set ylabel 'loss scale'
set logscale y 2
set format y '2^{%L}'
plot 'data.csv' using (x_of('largest scale without overflow')):5 with lines linecolor rgb 0xAAAAAA linewidth 1.5 \
        title '65504 / largest gradient', \
    '' using (x_of('loss scale')):5 with steps linetype 1 linewidth 3 title 'loss scale', \
    '' using (x_of('skipped steps')):5 with points linetype 2 pointsize 1.4 title 'overflow: step skipped'
