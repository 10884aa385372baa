# Two panels: fp16 left, bf16 right; the first two series bound fp32's spread.
set multiplot title title_text noenhanced font large layout 1,2 margins 0.125,0.98,0.215,0.85 spacing 0.07
set xlabel 'learning rate'
set ylabel 'accuracy'
set format x '2^{%g}'
set format y '%g %%'
set yrange [0:100]
set key inside vertical bottom right font tiny samplen 2 spacing 1.1
set xtics 1
do for [panel=0:1] {
    first = panel == 0 ? 4 : 8
    set title (panel == 0 ? 'fp16 weights' : 'bf16 weights') font small offset 0,-0.3
    plot for [i=1:2] 'data.csv' using (x_of(series(i))):(100 * column(5)) with lines linecolor rgb 0xAAAAAA linewidth 1.5 \
            title (i == 1 ? "fp32, minimum and maximum" : ''), \
        'data.csv' using (x_of(series(3))):(100 * column(5)) with lines linecolor rgb 0x000000 linewidth 4 title 'fp32', \
        for [i=first:first + 3] '' using (x_of(series(i))):(100 * column(5)) with linespoints \
            linetype (i - first + 1) pointsize 1.1 title series(i)[6:*]
    unset label 1000
    set key off
    set ylabel ''
}
unset multiplot
