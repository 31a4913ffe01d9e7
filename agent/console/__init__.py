"""The console: pages for browsers, served by a process of its own that is nobody to the agent.

It opens no file of the agent and holds no key: what it shows it asks for over a socket, and what a
visitor does goes to the agent as that visitor's words.
"""
