"""What mxfp8_quantizer.py works with: singles as Python floats, and codes as integers from 0 to 255."""
