# The same sheet of scenes a row, with the boxes that one arithmetic finds. A box is five points.
set multiplot title title_text noenhanced font large layout 3,1 margins 0.17,0.98,0.09,0.91 spacing 0.02
unset border
unset tics
unset grid
set datafile separator ' '
set xrange [0:scenes*side]
set yrange [side:0]
set size ratio -1
set key off
unset title
width = scenes * side
rows(name, part) = "< awk -F, -v s='" . name . "' '$1==\"scenes\" && $2==s {print $3, $5; if (++n % " . part . \
    " == 0) print \"\"}' data.csv"
do for [i=3:5] {
    set label 1 series(i) at graph -0.02,0.5 right
    plot rows('pixels', width) using (int($1) % width + 0.5):(int($1 / width) + 0.5): \
            (int($2 / 65536)):(int($2 / 256) % 256):(int($2) % 256) with rgbimage notitle, \
        rows('truth', 5) using 1:2 with lines linecolor rgb 0xFFFFFF linewidth 2 dashtype 2 notitle, \
        rows(series(i), 5) using 1:2 with lines linecolor rgb 0x000000 linewidth 3 notitle
    unset label 1000
}
unset multiplot
