# Rows of three faces; a series counts the pixels of one after the other.
pixels = 32
set multiplot title title_text noenhanced font large layout 1,3 margins 0.03,0.97,0.14,0.82 spacing 0.04
set palette gray
unset colorbox
unset border
unset tics
unset grid
set datafile separator ' '
set xrange [-0.5:pixels-0.5]
set yrange [-0.5:3*pixels-0.5]
set cbrange [-1:1]
set size ratio -1
set key off
do for [i=1:3] {
    set title series(i) font small offset 0,-0.3
    plot '< awk -F, -v s=' . series(i) . ' ''$1=="faces" && $2==s {print $3, $5}'' data.csv' \
        using (int($1) % pixels):(3 * pixels - 1 - int($1 / pixels)):2 with image notitle
    unset label 1000
}
unset multiplot
