# Names beside the curves in place of a key. Of `ends` curves with the names end_names (on a page end_wrapped, in end_lines lines)
# and the colours end_colours, the function end has kept a place, end_x and end_y: where each ends, or its peak (at_peaks).
share(at, least, most, is_log) = is_log ? log(at / least) / log(most / least) : (at - least) / (most - least)
line_height = page ? 0.1 : 0.055
longest = page ? longest_line : longest_name
array end_at[ends]; array end_place[ends]
lines_left = 0
reached = longest <= (page ? 13 : 99)
do for [i=1:ends] {
    end_at[i] = end_y[i] == end_y[i] ? share(end_y[i], GPVAL_Y_MIN, GPVAL_Y_MAX, y_log) : 0.5   # a curve without a point
    end_at[i] = end_at[i] < 0 ? 0 : end_at[i] > 1 ? 1 : end_at[i]
    end_place[i] = share(end_x[i], GPVAL_X_MIN, GPVAL_X_MAX, x_log)
    if (!page) { end_wrapped[i] = end_names[i]; end_lines[i] = 1 }
    lines_left = lines_left + end_lines[i]
    if (!at_peaks && !panel_below && !(end_place[i] > 0.85)) { reached = 0 }   # one ends far from the edge: the key stays
}
upper = 1 + line_height
if (panel_below) {   # the names are drawn with the lower panel, beside both
    tall = tmargin_below - bmargin_below
    do for [i=1:ends] { if (end_y[i] == end_y[i]) { end_at[i] = (bmargin_above + end_at[i] * (tmargin_above - bmargin_above) - bmargin_below) / tall } }
    line_height = (page ? 20.0 / (240 + page_foot) : 0.035) / tall
    upper = (tmargin_above - bmargin_below) / tall + line_height / 2
}
if (reached) { set key off }
if (reached && !panel_below && !page) { set tmargin 3.6; set title offset 0,0.5 }
if (reached && at_peaks) {
    wide = (page ? 7.4 : 9.0) / (page ? 275 : 800)   # of a letter
    do for [n=1:ends] {   # from below
        low = 0
        do for [i=1:ends] { if (end_at[i] < 2 && (low == 0 || end_at[i] < end_at[low])) { low = i } }
        half = wide * strlen(end_names[low]) / 2
        end_place[low] = end_place[low] < half ? half : end_place[low] > 1 - half ? 1 - half : end_place[low]
        end_y[low] = end_at[low] / 1.2 + 0.6 * line_height
        do for [i=1:ends] {
            near = abs(end_place[i] - end_place[low]) < half + wide * (strlen(end_names[i]) / 2.0 + 2)
            if (end_at[i] > 2 && near && end_y[low] < end_y[i] + line_height) { end_y[low] = end_y[i] + line_height }
        }
        end_at[low] = 3
        set label 900+n end_names[low] at graph end_place[low],end_y[low] center noenhanced font small front
    }
    set offsets 0,0,0,0
    set yrange [GPVAL_Y_MIN:GPVAL_Y_MIN + 1.2 * (GPVAL_Y_MAX - GPVAL_Y_MIN)]
}
if (reached && !at_peaks) {
    if (!panel_below) { set rmargin (page ? 3.5 : 5) + 0.85 * longest }
    if (page && exists("x_span")) { set autoscale xfixmax; set xtics tic(1.3 * x_span) }
    do for [n=1:ends] {   # from above
        top = 0
        do for [i=1:ends] { if (end_at[i] > -1 && (top == 0 || end_at[i] > end_at[top])) { top = i } }
        lines_left = lines_left - end_lines[top]
        rest = (end_lines[top] - 1) * line_height   # of its lines
        at_line = end_at[top] + rest / 2 > upper - line_height ? upper - line_height : end_at[top] + rest / 2
        at_line = at_line < line_height * lines_left + rest ? line_height * lines_left + rest : at_line   # room for those below
        upper = at_line - rest
        end_at[top] = -2
        set arrow 900+n from graph 1.01,at_line to graph 1.045,at_line nohead linecolor rgb end_colours[top] dashtype end_dashes[top] linewidth 3
        set label 900+n end_wrapped[top] at graph 1.055,at_line left noenhanced font small
    }
}
if (reached && !panel_below) {
    even = 1
    set output figure . '.' . format
    replot
}
