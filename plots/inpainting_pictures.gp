# A sheet of pictures a row, its pixels counted row by row.
pixels = 32
pictures = 7
set multiplot title title_text noenhanced font large layout 4,1 margins 0.15,0.98,0.09,0.91 spacing 0.015
set border 0
unset tics
unset grid
set datafile separator ' '
width = pictures * pixels
set xrange [0:width]
set yrange [pixels:0]
set size ratio -1
set key off
unset title
do for [i=1:4] {
    set label 1 series(i) at graph -0.02,0.5 right
    plot '< awk -F, -v s=' . series(i) . ' ''$1=="pictures" && $2==s {print $3, $5}'' data.csv' \
        using (int($1) % width + 0.5):(int($1 / width) + 0.5): \
            (int($2 / 65536)):(int($2 / 256) % 256):(int($2) % 256) with rgbimage notitle
    unset label 1000
}
unset multiplot
