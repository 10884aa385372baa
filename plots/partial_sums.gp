# Two panels: the formats alone, and the matrix units. Infinity has a band of its own above the range.
array colour_of[series_count] # of formats; pairwise sums are dashed; units by accumulator
do for [i=1:series_count] { colour_of[i] = strstrt(series(i), 'tf32') ? 6 : strstrt(series(i), 'bf16') ? 1 : strstrt(series(i), 'fp16') ? 2 : 8 }
if (page) { set multiplot layout 2,1 margins 0.2,0.97,0.16,0.92 spacing 0,0.19 } else {
set multiplot title title_text noenhanced font large layout 1,2 margins 0.125,0.98,(0.185+0.027*caption_lines),0.85 spacing 0.09 }
set logscale xy 2
set format xy '2^{%L}'
set xrange [64:*]
set yrange [1024:2**23]
set ytics 1024,4,2**18
if (page) { set xtics 8 }
set object 1 rectangle from graph 0,first 2**21.5 to graph 1,first 2**22.5 behind fillcolor rgb 0xEEEEEE fillstyle solid border rgb 0xBBBBBB
set label 2 'infinite' at graph 0.7,first 2**22 right font tiny
set xlabel (page ? '' : 'number of sixteens')
set ylabel 'sum'
set arrow 1 from graph 0,first 65504 to graph 1,first 65504 nohead linecolor rgb mark_colour dashtype 2
set label 1 'largest fp16 number 65504' at graph 0.03,first 65504 offset 0,0.6 font tiny textcolor rgb mark_colour
if (!page) { set key inside vertical left top at graph 0.02,0.87 font tiny }
infinite(name, place) = strcol(1) eq figure && strcol(2) eq name && strcol(5) eq 'inf' ? 2**(21.9 + 0.1 * place) : NaN
set title 'rounded to the format after each addition' font small offset 0,-0.3
plot 'data.csv' using (x_of('exact')):5 with lines linewidth 1 linecolor rgb mark_colour title 'exact', \
    for [i=3:7] '' using (x_of(series(i))):5 with lines linetype colour_of[i] dashtype 1+(i>4) \
        linewidth (i == 4 ? 7 : 3) title series(i), \
    '' using 3:(infinite(series(7), 1)) with points linetype colour_of[7] pointtype 2 pointsize 0.7 * mark_scale notitle
unset label 1000
unset label 1
unset label 2
unset object 1
set title 'matrix units, by accumulator' font small offset 0,-0.3
# A row for each unit, as the sums lie on each other. Rows of data.csv: an exact sum, an infinite one, any other.
set ylabel ''
set xlabel 'number of sixteens' offset 0,(page ? 0.7 : 0)
unset logscale y
set ytics autofreq
units = series_count - 7
set yrange [units+0.7:0.3]
set ytics () scale 0 font tiny
short(name) = name[1:strstrt(name, ' acc') - 1]
set for [i=1:units] ytics add (short(series(i + 7)) i)
set lmargin at screen (page ? 0.33 : 0.62)
set key off
is_of(i) = strcol(1) eq figure && strcol(2) eq series(i + 7)
exact(i) = is_of(i) && column(5) == 16 * column(3) ? i : NaN
infinite_at(i) = is_of(i) && strcol(5) eq 'inf' ? i : NaN
other(i) = is_of(i) && strcol(5) ne 'inf' && column(5) != 16 * column(3) ? i : NaN
plot for [i=1:units] 'data.csv' using 3:(exact(i)) with points linetype colour_of[i + 7] pointtype 7 pointsize 0.5 * mark_scale title short(series(i + 7)), \
    for [i=1:units] '' using 3:(infinite_at(i)) with points linetype colour_of[i + 7] pointtype 2 pointsize 0.6 * mark_scale title short(series(i + 7)), \
    for [i=1:units] '' using 3:(other(i)) with points linetype colour_of[i + 7] pointtype 5 pointsize 0.6 * mark_scale title short(series(i + 7))
unset multiplot
