# Two panels: attention by phoneme and step of the decoder. x of the data counts the phonemes, step by step.
if (page) { set multiplot layout 2,1 margins 0.21,0.76,0.19,0.92 spacing 0,0.19 } else {
set multiplot title title_text noenhanced font large layout 1,2 margins 0.09,0.86,0.22,0.85 spacing 0.08 }
set palette defined (0 '#FFFFFF', 0.5 '#56B4E9', 1 '#003B5C')
set cbrange [0:1]
set ylabel 'phoneme'
set xrange [0.5:steps + 0.5]
set yrange [0.5:phonemes + 0.5]
set xtics 1
set ytics 1
set style fill solid 1 noborder
unset grid
unset key
unset colorbox
step(x) = floor(x / phonemes) + 1
phoneme(x) = x - phonemes * floor(x / phonemes) + 1
do for [i=1:2] {
    set title series(i) font small offset 0,-0.3
    set xlabel (page && i == 1 ? '' : 'step of the decoder')
    if (i == 2) { set colorbox user origin (page ? 0.79 : 0.9),0.22 size 0.025,0.63; set cblabel 'attention' offset (page ? -1.3 : 0.5),0 }
    plot 'data.csv' using (step(x_of(series(i)))):(phoneme(x_of(series(i)))):(0.5):(0.5):5 with boxxyerror fillcolor palette notitle
    unset label 1000
    if (!page) { set ylabel '' }
}
unset multiplot
