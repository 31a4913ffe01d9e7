"""Speech: engines that write down what was said, and engines that speak."""
