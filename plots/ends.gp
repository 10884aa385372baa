# Names beside the curves in place of a key. Of `ends` curves with the names end_names (on a page end_wrapped, in end_lines lines)
# and the colours end_colours, the function end has kept a place, end_x and end_y: where each ends, or its peak (at_peaks).
share(at, least, most, is_log) = is_log ? log(at / least) / log(most / least) : (at - least) / (most - least)
line_height = panels > 0 ? (page ? 0.14 : panels > 2 ? 0.115 : 0.055) : page ? 18.0 / (GPVAL_TERM_YMAX - GPVAL_TERM_YMIN) : lesson ? 0.075 : 0.055   # a panel is lower
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
    if (!at_peaks && !panel_below && !(end_place[i] > 0.8)) { reached = 0 }   # one ends far from the edge: the key stays
}
upper = 1 + line_height
if (panel_below) {   # the names are drawn with the lower panel, beside both
    tall = tmargin_below - bmargin_below
    do for [i=1:ends] { if (end_y[i] == end_y[i]) { end_at[i] = (bmargin_above + end_at[i] * (tmargin_above - bmargin_above) - bmargin_below) / tall } }
    line_height = (page ? 20.0 / (240 + page_foot) : 0.035) / tall
    upper = (tmargin_above - bmargin_below) / tall + line_height / 2
}
if (reached) { set key off; if (!panel_below && !page && panels == 0) { set tmargin 3.6 + above; set title offset 0,0.5 + above } }
if (reached && at_peaks) {
    wide = page ? 7.4 / 275 : 9.0 / (panels == 0 ? 800 : 400)   # of a letter
    stretch = 1 / (1 - (ends + 0.1) * line_height)   # room for all names above the highest peak
    do for [n=1:ends] {   # from below
        low = 0
        do for [i=1:ends] { if (end_at[i] < 2 && (low == 0 || end_at[i] < end_at[low])) { low = i } }
        half = wide * strlen(end_names[low]) / 2
        end_place[low] = end_place[low] < half ? half : end_place[low] > 1 - half ? 1 - half : end_place[low]
        end_y[low] = end_at[low] / stretch + 0.6 * line_height
        do for [i=1:ends] {
            near = abs(end_place[i] - end_place[low]) < half + wide * (strlen(end_names[i]) / 2.0 + 2)
            if (end_at[i] > 2 && near && end_y[low] < end_y[i] + line_height) { end_y[low] = end_y[i] + line_height }
        }
        end_at[low] = 3
        set label 900+n end_names[low] at graph end_place[low],end_y[low] center noenhanced font small front
    }
    do for [r=1:rules] {   # a rule ends below a name
        lowest = 1
        do for [i=1:ends] { if (abs(end_place[i] - share(rule_x[r], GPVAL_X_MIN, GPVAL_X_MAX, x_log)) < wide * (strlen(end_names[i]) / 2.0 + 1) && end_y[i] < lowest) { lowest = end_y[i] } }
        if (lowest < 1) { set arrow r from first rule_x[r],graph 0 to first rule_x[r],graph lowest - line_height / 2 }
    }
    set offsets 0,0,0,0; y_span = GPVAL_Y_MAX - GPVAL_Y_MIN
    set yrange [GPVAL_Y_MIN:GPVAL_Y_MIN + stretch * y_span]; if (page) { set ytics tic(y_span) }
}
if (reached && !at_peaks) {
    if (panels > 0) { set yrange [GPVAL_Y_MIN:GPVAL_Y_MAX] } else { if (!panel_below) { set rmargin (page ? 3.5 : 5) + 0.85 * longest } }
    if (page && exists("x_span")) { set autoscale xfixmax; if (!x_log) { set xtics tic(1.3 * x_span) } }
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
if (reached && !panel_below && panels == 0) {
    even = 1
    set output figure . '.' . format
    replot
}
