"""What the machine feels of itself while the agent runs: one file for each thing that can hurt."""
