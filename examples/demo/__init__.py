"""gt4py stencils on real weather data, on gridbuf's arrays and on others: `make demo`."""
