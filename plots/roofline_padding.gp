set xlabel 'n'
set ylabel 'relative time'
set xrange [999:1049]
set xtics 1000,8,1048
set yrange [0:9.5]
plot 'data.csv' using (x_of('as it is')):5 with points linetype 2 pointsize 1.1 title 'as it is', \
    '' using (x_of('padded')):5 with points linetype 1 pointtype 7 pointsize 0.7 title 'padded to a multiple of 8'
