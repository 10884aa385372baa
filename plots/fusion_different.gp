names = '"one addition" "multiply-add" "residual sum" "end of a norm" "LSTM cell" "gelu by tanh"'
set xrange [-0.6:5.6]
set yrange [0:100]
set ytics 0,20,100
set format y '%g %%'
set ylabel 'results that differ'
set xtics () scale 0 font small
do for [i=1:words(names)] { set xtics add (word(names, i) i - 1) }
set boxwidth 0.36
set grid noxtics
label_of(share) = sprintf('%.0f %%', 100 * share)
plot for [i=1:2] 'data.csv' using (x_of(series(i)) + 0.38 * (i - 1.5)):(100 * column(5)) with boxes linetype i title series(i), \
    for [i=1:2] '' using (x_of(series(i)) + 0.38 * (i - 1.5)):(100 * column(5)):(label_of(column(5))) with labels offset 0,0.6 font tiny notitle
