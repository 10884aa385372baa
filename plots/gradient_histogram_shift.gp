set multiplot title title_text noenhanced font large layout 1,2 margins 0.125,0.98,0.215,0.85 spacing 0.09
set xrange [-40:8]
set yrange [0:*]
set xtics 8
set format x '2^{%g}'
set format y '%g %%'
set xlabel 'binade'
set ylabel 'share of the gradient'
set key inside vertical top left font small
set object 1 rectangle from first -40,graph 0 to first -25,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.45 noborder
set object 2 rectangle from first -25,graph 0 to first -14,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.18 noborder
set boxwidth 0.9
set style fill solid 0.55 noborder
do for [panel=0:1] {
    set title (panel == 0 ? 'in fp32' : 'in the recipe that trains') font small offset 0,-0.3
    plot for [i=1:2] 'data.csv' using (x_of(series(2 * panel + i))):(100 * column(5)) with boxes linetype i \
        title (i == 1 ? 'scale 1' : 'scaled')
    unset label 1000
    set ylabel ''
}
unset multiplot
