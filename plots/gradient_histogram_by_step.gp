# Four panels, one per role; series are named "role step N".
roles = 'weight activation weight_gradient activation_gradient'
plurals = '"weights" "activations" "weight gradients" "activation gradients"'
set multiplot title title_text noenhanced font large layout 2,2 margins 0.075,0.985,0.205,0.87 spacing 0.08,0.14
set xrange [-40:8]
set yrange [0:*]
set xtics 8
set format x '2^{%g}'
set format y '%g %%'
set object 1 rectangle from first -40,graph 0 to first -25,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.45 noborder
set object 2 rectangle from first -25,graph 0 to first -14,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.18 noborder
do for [panel=1:4] {
    role = word(roles, panel)
    list = ''
    do for [i=1:series_count] { if (word(series(i), 1) eq role) { list = list . sprintf(' %d', i) } }
    set title word(plurals, panel) font small offset 0,-0.6
    if (panel < 3) { set key inside vertical top left font tiny samplen 1.5 } else { set key inside vertical top right font tiny samplen 1.5 }
    set xlabel (panel > 2 ? 'binade' : '') offset 0,0.3
    if (panel == 2) { unset label 1000 }
    plot for [n=1:words(list)] 'data.csv' using (x_of(series(int(word(list, n))))):(100 * column(5)) \
        with lines linetype n title 'step ' . word(series(int(word(list, n))), 3)
}
unset multiplot
