"""How the machine itself is: what the kernel tells of it, read from a folder to be replaced."""
