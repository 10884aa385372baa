names = '"one addition" "multiply-add" "residual sum" "end of a norm" "LSTM cell" "gelu by tanh"'
set xrange [-0.6:5.6]
set logscale y 10
set yrange [0.1:*]
set ylabel 'mean error in units in the last place'
set xtics () scale 0 font small
do for [i=1:words(names)] { set xtics add (word(names, i) i - 1) }
set arrow 1 from graph 0,first 0.25 to graph 1,first 0.25 nohead linecolor rgb mark_colour dashtype 2
set label 1 'one rounding' at graph 0.99,first 0.21 right font tiny textcolor rgb mark_colour
plot for [i=1:series_count] 'data.csv' using (x_of(series(i)) + 0.12 * (i - 2.5)):5 with points \
    linetype (i + 1) / 2 pointtype (i % 2 ? 7 : 6) pointsize 2.2 linewidth 3 title series(i)
