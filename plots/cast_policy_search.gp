set xlabel 'attempt'
set ylabel 'operations in fp32'
set xrange [0.3:*]
set yrange [-0.5:9.5]
set xtics 2
set ytics 1
plot 'data.csv' using (x_of('learns')):5 with impulses linecolor rgb 0x009E73 linewidth 1.5 notitle, \
    '' using (x_of('fails')):5 with impulses linecolor rgb 0xD55E00 linewidth 1.5 notitle, \
    '' using (x_of('learns')):5 with points linetype 3 pointtype 7 pointsize 2 title 'learns', \
    '' using (x_of('fails')):5 with points linetype 2 pointtype 2 pointsize 2 linewidth 3 title 'fails'
