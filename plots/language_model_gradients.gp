# Two panels; series are "activation PART" and "weight PART". The blocks go from light to dark, the ends are coloured.
kinds = 'activation weight'
titles = '"activation gradients" "weight gradients"'
set multiplot title title_text noenhanced font large layout 1,2 margins 0.075,0.985,0.205,0.85 spacing 0.08,0.14
set xrange [-48:0]
set yrange [0:*]
set xtics 8
set format x '2^{%g}'
set format y '%g %%'
set xlabel 'binade' offset 0,0.3
set object 1 rectangle from first -48,graph 0 to first -25,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.45 noborder
set object 2 rectangle from first -25,graph 0 to first -14,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.18 noborder
set key inside vertical top left font tiny samplen 1.5
do for [panel=1:2] {
    list = ''
    do for [i=1:series_count] { if (word(series(i), 1) eq word(kinds, panel)) { list = list . sprintf(' %d', i) } }
    set title word(titles, panel) font small offset 0,-0.6
    if (panel == 2) { unset label 1000 }
    plot for [n=1:words(list)] 'data.csv' using (x_of(series(int(word(list, n))))):(100 * column(5)) \
        with lines linetype n title word(series(int(word(list, n))), 2) noenhanced
}
unset multiplot
