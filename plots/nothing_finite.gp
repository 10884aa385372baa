# In place of a figure without a single point: no run gave a finite value.
set label 1 'No value is finite: there is nothing to draw.' at graph 0.5,0.5 center font small
unset logscale
unset tics
unset border
unset xlabel
unset ylabel
set key off
set xrange [0:1]
set yrange [0:1]
plot NaN notitle
