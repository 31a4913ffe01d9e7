"""Tools of other programs, over the Model Context Protocol.

Every server has a process of its own between itself and the agent, which alone imports the SDK.
What a server says of its tools counts from when the owner has read and approved exactly that.
"""
