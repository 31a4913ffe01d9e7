"""State of the machine, read from the kernel's files in a folder that tests replace."""
