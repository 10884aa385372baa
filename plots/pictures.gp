# A sheet of pictures for each of `rows` series, its pixels counted row by row. A picture has `pixels` a side, a row
# `pictures`. Colours are 65536 red + 256 green + blue or, with `in_grey`, from -1 to 1. With `boxes` the first two series
# are one sheet and the boxes that it has, of five points each; the others are the boxes that each row adds to it.
has_boxes = exists("boxes")
set multiplot title (page ? "" : title_text) noenhanced font large layout rows,1 margins (page ? 0.37 : 0.17),0.98,0.09,0.91 spacing 0.015
set palette gray
unset colorbox
set border 0
unset tics
unset grid
width = pictures * pixels
set xrange [0:width]
set yrange [pixels:0]
set cbrange [-1:1]
set size ratio -1
set key off
unset title
set table $truth
plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of(series(has_boxes ? 2 : 1)))
unset table
do for [i=1:rows] {
    row = has_boxes ? i + 2 : i
    set label 1 series(row) at graph -0.02,0.5 right noenhanced
    set table $sheet
    plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of(series(has_boxes ? 1 : i)))
    set table $found
    plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of(series(row)))
    unset table
    set datafile separator whitespace
    if (exists("in_grey")) {
        plot $sheet using (int($1) % width + 0.5):(int($1 / width) + 0.5):2 with image notitle
    } else {
        plot $sheet using (int($1) % width + 0.5):(int($1 / width) + 0.5): \
                (int($2 / 65536)):(int($2 / 256) % 256):(int($2) % 256) with rgbimage notitle, \
            for [box=0:(has_boxes ? |$truth|/5 : 0)-1] $truth every ::5*box::5*box+4 using 1:2 \
                with lines linecolor rgb 0xFFFFFF linewidth 2 dashtype 2 notitle, \
            for [box=0:(has_boxes ? |$found|/5 : 0)-1] $found every ::5*box::5*box+4 using 1:2 \
                with lines linecolor rgb 0x000000 linewidth 3 notitle
    }
    set datafile separator ','
    unset label 1000
}
unset multiplot
