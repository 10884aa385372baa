# Bars by arithmetic (x), one colour per net. After each series, its range.
names = '"fp32" "tf32" "bf16" "fp16, scaled" "fp16, not scaled" "fp16 throughout" "fp8, scaled" "fp8, not scaled" "mxfp8"'
nets = series_count / 2
set xrange [-0.6:8.6]
set yrange [0:100]
set ytics 0,20,100
set format y '%g %%'
set ylabel 'accuracy'
set xtics () scale 0 rotate by 20 right font small
do for [i=1:words(names)] { set xtics add (word(names, i) i - 1) }
set bmargin 7
set boxwidth 0.25
set grid noxtics
plot for [i=1:nets] 'data.csv' using (x_of(series(2 * i - 1)) + 0.27 * (i - 2)):(100 * column(5)) \
        with boxes linetype i title series(2 * i - 1), \
    for [i=1:nets] for [w=0:8] '' using (x_of(series(2 * i)) == w ? w + 0.27 * (i - 2) : NaN):(100 * column(5)) \
        with lines linecolor rgb 0x333333 linewidth 2 notitle
