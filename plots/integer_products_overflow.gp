set xlabel 'k, number of products'
set ylabel 'sum'
set format x '%.0f'
set xrange [0:262144]
set xtics 0,65536
set yrange [-2.6e9:4.6e9]
set ytics ('-2^{31}' -2**31, '0' 0, '2^{31}' 2**31, '2^{32}' 2.0**32)
plot 'data.csv' using (x_of('exact')):5 with lines linecolor rgb mark_colour linewidth 1.5 dashtype 2 title 'exact', \
    '' using (x_of('wrapping')):5 with points linetype 2 pointsize 0.6 title 'wrapping', \
    '' using (x_of('saturating')):5 with lines linetype 1 title 'saturating'
