# The same sheet of scenes a row, with the boxes that one arithmetic finds. A box is five points.
set multiplot title title_text noenhanced font large layout 3,1 margins 0.17,0.98,0.09,0.91 spacing 0.02
unset border
unset tics
unset grid
set xrange [0:scenes*side]
set yrange [side:0]
set size ratio -1
set key off
unset title
width = scenes * side
set table $pixels
plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of('pixels'))
set table $truth
plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of('truth'))
unset table
do for [i=3:5] {
    set label 1 series(i) at graph -0.02,0.5 right
    set table $found
    plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of(series(i)))
    unset table
    set datafile separator whitespace
    plot $pixels using (int($1) % width + 0.5):(int($1 / width) + 0.5): \
            (int($2 / 65536)):(int($2 / 256) % 256):(int($2) % 256) with rgbimage notitle, \
        for [box=0:|$truth|/5-1] $truth every ::5*box::5*box+4 using 1:2 \
            with lines linecolor rgb 0xFFFFFF linewidth 2 dashtype 2 notitle, \
        for [box=0:|$found|/5-1] $found every ::5*box::5*box+4 using 1:2 \
            with lines linecolor rgb 0x000000 linewidth 3 notitle
    set datafile separator ','
    unset label 1000
}
unset multiplot
