# The figure of lesson 1, drawn by docs/update.sh, which sets what plots/style.gp wants, and folder, where the data lie.
set datafile separator tab
set xrange [0:8.2]
set yrange [0.4:4.9]
set ytics ('e2m1' 4, 'e2m3' 3, 'e3m2' 2, 'e4m3' 1)
set xlabel 'number'
unset key
set grid noxtics noytics
do for [e=-1:3] { set arrow from 2.0**e,0.4 to 2.0**e,4.6 nohead dashtype 3 linecolor rgb mark_colour }
kind(wanted, y) = (strcol(3) eq wanted && column(5) >= 0) ? y : NaN
file(name) = folder . '/' . name . '.tsv'
plot for [i=1:4] file(word('e4m3 e3m2 e2m3 e2m1', i)) using 5:(kind('normal', i)) with points linetype 1 pointsize 0.9, \
     for [i=1:4] file(word('e4m3 e3m2 e2m3 e2m1', i)) using 5:(kind('subnormal', i)) with points linetype 2 pointsize 0.9
