set xlabel 'share of products in the time of fp32 training, %'
set ylabel 'speed-up of the whole'
set xrange [0:100]
set yrange [1:1.05*factor]
set arrow 1 from 73,1 to 73,factor nohead linecolor rgb mark_colour dashtype 3
set arrow 2 from 90,1 to 90,factor nohead linecolor rgb mark_colour dashtype 3
plot 'data.csv' using (x_of('products alone')):5 with lines linetype 1 title sprintf('only products %.0f times as fast', factor), \
    '' using (x_of('products and memory')):5 with lines linetype 2 title 'and the rest twice as fast', \
    '' using (x_of('ResNet-50')):5 with linespoints linetype 3 linewidth 6 pointtype 7 pointsize 1.2 title 'published: ResNet-50, 2.2x to 3x', \
    '' using (x_of('Deep Speech 2')):5 with points linetype 4 pointtype 7 pointsize 1.6 title 'published: Deep Speech 2, 4.5x'
