"""One file for each thing that can be put right without asking; each says what it did."""
