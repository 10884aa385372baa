# Two bars for each category, called `first_bars` and `second_bars`. A series is a category, with x = 0 and 1; after it its range.
count = series_count / 2
set xrange [-0.6:count - 0.4]
set xtics () scale 0 font tiny
put(name, old, new) = strstrt(name, old) ? name[1:strstrt(name, old) - 1] . new . name[strstrt(name, old) + strlen(old):*] : name
short(name) = page ? put(put(name, ' with ', ', '), ' and ', ', ') : name
do for [i=1:count] { set xtics add (short(series(2 * i - 1)) i - 1) }
if (page) { set xtics rotate by 60 right; set bmargin at screen (page_foot + 5.0) / (page_foot + 240) }
if (count > 8 && !page) { set xtics rotate by 25 right; set bmargin (8 + caption_lines); set lmargin 13 }
set boxwidth 0.38
set grid noxtics
plot for [i=1:count] 'data.csv' using (x_of(series(2 * i - 1)) == 0 ? i - 1.2 : NaN):(100 * column(5)) \
        with boxes linetype 9 title (i == 1 ? first_bars : '') noenhanced, \
    for [i=1:count] '' using (x_of(series(2 * i - 1)) == 1 ? i - 0.8 : NaN):(100 * column(5)) \
        with boxes linetype 5 title (i == 1 ? second_bars : '') noenhanced, \
    for [i=1:count] for [n=0:1] '' using (x_of(series(2 * i)) == n ? i - 1.2 + 0.4 * n : NaN):(100 * column(5)) \
        with lines linecolor rgb 0x333333 linewidth 2 notitle
