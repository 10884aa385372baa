set xlabel 'images in a batch'
set ylabel 'GiB'
set xrange [0:1200]
set yrange [0:*]
set arrow 1 from graph 0,first 0 to graph 1,first 0 nohead
stats 'data.csv' using (x_of('published')):5 nooutput
budget = STATS_max_y
set arrow 1 from 0,budget to 1200,budget nohead linecolor rgb mark_colour dashtype 2
set label 1 '590' at 590,budget center offset 0,1 font small
set label 2 '1000' at 1000,budget center offset 0,1 font small
plot 'data.csv' using (x_of('fp32')):5 with lines linetype 1 title 'fp32', \
    '' using (x_of('mixed fp16')):5 with lines linetype 2 title 'mixed fp16', \
    '' using (x_of('published')):5 with points linetype 3 pointtype 7 pointsize 1.6 title 'published batches'
