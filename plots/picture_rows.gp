# A sheet of pictures for each series, its pixels counted row by row. The figure gives the pixels of a picture's side,
# the pictures of a row, and the rows.
set multiplot title title_text noenhanced font large layout rows,1 margins 0.15,0.98,0.09,0.91 spacing 0.015
set border 0
unset tics
unset grid
width = pictures * pixels
set xrange [0:width]
set yrange [pixels:0]
set size ratio -1
set key off
unset title
do for [i=1:rows] {
    set label 1 series(i) at graph -0.02,0.5 right
    set table $rows
    plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of(series(i)))
    unset table
    set datafile separator whitespace
    plot $rows using (int($1) % width + 0.5):(int($1 / width) + 0.5): \
            (int($2 / 65536)):(int($2 / 256) % 256):(int($2) % 256) with rgbimage notitle
    set datafile separator ','
    unset label 1000
}
unset multiplot
