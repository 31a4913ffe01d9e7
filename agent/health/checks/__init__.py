"""One file for each thing that can be wrong; each says one sentence."""
