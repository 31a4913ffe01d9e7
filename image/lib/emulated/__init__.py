"""A computer for the image to start in, with everything around it: nothing of it is the product."""
