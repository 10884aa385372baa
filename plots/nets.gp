# Four panels, one per net; series are "net role step", frames of a role one after the other. Clauses loop over all frames
# innermost: that is how the drawing learns to move (experiments/framework/figures.hpp).
names = '"CNN" "CNN with batch normalisation" "LSTM" "Transformer (layer norm)"'
array colour_of[4] = [9, 5, 10, 7]   # of no format
kinds = '"weights" "activations" "weight gradients" "activation gradients"'
if (page) { set multiplot layout 4,1 margins 0.16,0.96,0.085,0.91 spacing 0,0.075 } else {
set multiplot title title_text noenhanced font large layout 2,2 margins 0.075,0.985,0.205,0.83 spacing 0.08,0.14 }
set xrange [-48:8]
top = 42
set yrange [0:top]
set xtics 8; if (page) { set ytics 20 }
set format x '2^{%g}'
set format y '%g %%'
set key off
set samples 2
set object 1 rectangle from first -48,graph 0 to first -25,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.45 noborder
set object 2 rectangle from first -25,graph 0 to first -14,graph 1 behind fillcolor rgb 0x999999 fillstyle solid 0.18 noborder
do for [r=1:4] { set label 10+r word(kinds, r) at screen (page ? 0.02 + 0.5 * ((r - 1) % 2) : 0.085 + 0.2 * (r - 1)),(page ? (r < 3 ? 0.985 : 0.96) : 0.905) left font small textcolor linetype colour_of[r] }
still = format eq 'png'
do for [net=0:3] {
    first = 4 * frames * net
    set title (word(series(first + 1), 1) eq 'resnet20' ? 'ResNet-20' : word(names, net + 1)) font small offset 0,(page ? -0.9 : -0.6)
    set xlabel (net > (page ? 2 : 1) ? 'binade' : '') offset 0,0.3
    plot for [r=0:3] for [f=1:frames:(still ? frames - 1 : 1)] 'data.csv' \
            using (x_of(series(first + r * frames + f))):(100 * column(5)) \
            with lines linetype colour_of[r + 1] dashtype 0+(still && f == 1 ? 3 : 1) notitle, \
        for [f=1:frames:(still ? frames - 1 : 1)] '+' using (-47):(f == 1 && still ? 0.83 * top : 0.92 * top):(sprintf(still && f == 1 ? "step %s, dotted" : "step %s", word(series(first + f), 3))) \
            every ::0::0 with labels left font tiny notitle
    unset label 1000
    do for [r=1:4] { unset label 10+r }
}
unset multiplot
