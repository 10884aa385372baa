# A sheet of faces a series, its pixels counted row by row.
pixels = 32
faces = 4
set multiplot title title_text noenhanced font large layout 3,1 margins 0.17,0.83,0.09,0.91 spacing 0.015
set palette gray
unset colorbox
unset border
unset tics
unset grid
set xrange [-0.5:faces*pixels-0.5]
set yrange [-0.5:pixels-0.5]
set cbrange [-1:1]
set size ratio -1
set key off
unset title
do for [i=1:3] {
    set label 1 series(i) at graph -0.02,0.5 right
    set table $rows
    plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of(series(i)))
    unset table
    set datafile separator whitespace
    plot $rows using (int($1) % (faces * pixels)):(pixels - 1 - int($1 / (faces * pixels))):2 with image notitle
    set datafile separator ','
    unset label 1000
}
unset multiplot
