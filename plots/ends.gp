# Names at the curves' ends in place of a key. `ends` curves, of the names end_names and the colours end_colours, end at
# end_x and end_y, which the function end has kept. Where one ends far from the right edge, the key stays. Each name takes
# a line of its own.
share(at, least, most, is_log) = is_log ? log(at / least) / log(most / least) : (at - least) / (most - least)
line_height = page ? 0.1 : 0.055
array end_at[ends]
reached = page ? longest_name <= 10 : 1
do for [i=1:ends] {
    end_at[i] = share(end_y[i], GPVAL_Y_MIN, GPVAL_Y_MAX, y_log)
    end_at[i] = end_at[i] < 0 ? 0 : end_at[i] > 1 ? 1 : end_at[i]
    if (!(share(end_x[i], GPVAL_X_MIN, GPVAL_X_MAX, x_log) > 0.85)) { reached = 0 }
}
if (reached) {
    set key off
    set rmargin (page ? 3.5 : 5) + 0.85 * longest_name
    if (!page) { set tmargin 3.6; set title offset 0,0.5 }
    upper = 1 + line_height
    do for [n=1:ends] {   # from above
        top = 0
        do for [i=1:ends] { if (end_at[i] > -1 && (top == 0 || end_at[i] > end_at[top])) { top = i } }
        room = line_height * (ends - n)   # for the names below
        upper = end_at[top] > upper - line_height ? upper - line_height : end_at[top] < room ? room : end_at[top]
        end_at[top] = -2
        set arrow 900+n from graph 1.01,upper to graph 1.045,upper nohead linecolor rgb end_colours[top] dashtype end_dashes[top] linewidth 3
        set label 900+n end_names[top] at graph 1.055,upper left noenhanced font small
    }
    even = 1
    set output figure . '.' . format
    replot
}
