# The one style of all figures: fonts, colours, sizes. A figure's script sets `figure` (file name), `title_text`,
# `caption_text` of `caption_lines` lines, `series_names` and `format` (svg, png or page.svg), loads this, and plots. On the
# page sheet are the curves and their axes alone: the page has title, caption and key as text. With `lesson` set to 1 the sheet is smaller and has no caption: its letters can be read on a phone.
# Colours: Okabe and Ito's palette, which people with any colour vision tell apart, its lightest ones darker, so that they stand
# out from the sheet by 3 to 1; marks and dashes differ as well.
reset
if (!exists("lesson")) { lesson = 0 }
set datafile separator ','
set datafile missing NaN
set encoding utf8
page = format eq 'page.svg'   # for a phone: 380 pixels are shown as 350
if (!exists('all_lines')) { all_lines = caption_lines }
caption_lines = page ? 0 : all_lines   # the sheet after the page's has its caption again
if (page) {
    points = 14
    key_spacing = 0.85
    if (!exists("panel_rows")) { panel_rows = 1; page_foot = 30 }
    set terminal svg size 380,(panel_rows == 1 ? 240 + page_foot : 60 + 180 * panel_rows) dynamic font 'DejaVu Sans,Helvetica,Arial,sans-serif,14' enhanced background rgb 'white'
} else { if (format eq 'svg') {
    points = 17
    key_spacing = 0.85   # this terminal counts a line as higher
    set terminal svg size (lesson ? 680 : 960),(lesson ? 500 : 600) dynamic font 'DejaVu Sans,Helvetica,Arial,sans-serif,17' enhanced background rgb 'white'
} else {
    points = 22
    key_spacing = 1.15
    set terminal pngcairo size 1600,1000 font 'DejaVu Sans,22' enhanced linewidth 1.6 pointscale 1.6
} }
tiny = sprintf(',%g', (page ? 0.93 : 0.8) * points)   # font sizes: set label ... font tiny
small = sprintf(',%g', (page ? 0.93 : 0.87) * points)
# Of a page's x axis four to eight numbers.
tic(span) = span > 0 ? tic_of(span / 4.0, 10 ** floor(log10(span / 4.0))) : 1
tic_of(step, unit) = unit * (step <= unit ? 1 : step <= 2 * unit ? 2 : step <= 5 * unit ? 5 : 10)
mark_scale = page ? 0.6 : 1; panels = 0
large = sprintf(',%g', (lesson ? 1 : 1.15) * points)
set output figure . '.' . format

# bf16, fp16, fp8, fp4, -, tf32, -, fp32, and three more of no format: a format has its colour in every figure (colours_of in experiments/framework/chart.cpp).
array colours[11] = [0x0072B2, 0xD55E00, 0x009E73, 0xC2659A, 0xC47F00, 0x2E94CC, 0x8C7A10, 0x777777, 0x8566D6, 0xC9405F, 0xA0654A]
array marks[11] = [7, 5, 9, 13, 11, 4, 6, 8, 7, 9, 4]
set for [i=1:11] linetype i linecolor rgb colours[i] linewidth 2.5 pointtype marks[i] pointsize (i < 3 || i == 9 ? 0.6 : 0.7) * mark_scale
set linetype cycle 11
mark_colour = 0x777777   # lines that mark a limit

set border 3 linewidth 1
set tics nomirror out textcolor rgb 0x000001   # a colour of their own, by which the report's script knows them
set grid back linecolor rgb 0xBBBBBB linewidth 0.5 dashtype 3
set style fill solid 0.75 noborder
set key at graph 0.5,1.02 center bottom horizontal Left reverse samplen 2 spacing key_spacing font small
set tmargin 5.6   # holds the key: no curve runs through it
set title title_text noenhanced font large offset 0,1.9
if (!lesson) { set label 1000 caption_text at screen 0.02,(0.033 + 0.027 * (caption_lines - 1)) left noenhanced font tiny textcolor rgb 0x666666 }
if (lesson) { caption_lines = 0 }
if (page) {
    unset title
    unset label 1000
    set key off
    set tmargin 1
}
set bmargin (page ? 3.7 : 4.5 + caption_lines)
set rmargin 3

# Rows of data.csv are figure, series, x, x_bits, y, y_format, y_bits. With these, `using (x_of(name)):(column(5))`
# takes one series of this figure.
x_of(name) = strcol(1) eq figure && strcol(2) eq name ? column(3) : NaN
# Pictures are drawn from the rows of one series and no others, which this copies to a block of data, all digits of them:
#     set table $rows; plot 'data.csv' using (strcol(3)):(strcol(5)) with table if (is_of(name)); unset table
# (A template starts no other program: what is in a received folder would be part of its command line.)
is_of(name) = strcol(1) eq figure && strcol(2) eq name
series_count = words(series_names)
array series_list[series_count + 1]   # an array: words of a long text are slow to find in every row
do for [i=1:series_count] { series_list[i] = word(series_names, i) }
series(i) = i > series_count ? '' : series_list[i]   # gnuplot looks at the first i of a loop without any, too
