set logscale xy 2
set format xy '2^{%L}'
set xlabel 'number'
set ylabel 'stored in fp16'
set xrange [2**-26.5:2**-12]
set yrange [2**-26:2**-12]
set arrow 1 from 2**-25,graph 0 to 2**-25,graph 0.85 nohead linecolor rgb mark_colour dashtype 2
set label 1 'half of the smallest number' at 2**-25,graph 0.97 right rotate by 90 offset 0.9,0 font tiny textcolor rgb mark_colour
set arrow 2 from 2**-14,graph 0 to 2**-14,graph 1 nohead linecolor rgb mark_colour dashtype 2
set label 2 'smallest normal number' at 2**-14,graph 0.03 left rotate by 90 offset -0.9,0 font tiny textcolor rgb mark_colour
zero = 2**-25.6
set ytics 2**-24,4
set label 3 '0' at 2**-26.5,zero right offset -1,0
plot for [i=1:2] 'data.csv' using (x_of(series(i))):(column(5) == 0 ? zero * 2**(0.15 - 0.3 * (i - 1)) : column(5)) \
    with points linetype i pointtype 7 pointsize (i == 1 ? 0.7 : 0.4) \
    title (i == 1 ? 'gradual underflow' : 'flushed to zero')
