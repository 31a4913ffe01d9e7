"""A browser that reads and uses web pages: isolated, behind a proxy of ours, led over a socket."""
