"""What the conformance suite starts for a scenario: it has the client do it that is there already.

Usage: mcp_conformance_caller.py SOCKET URL; it ends as the client does, and says what that says.
"""

import os
import socket
import sys

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(sys.argv[1])
        with client.makefile("rw", encoding="utf-8") as lines:
            lines.write(f"{sys.argv[2]}\n{os.environ.get('MCP_CONFORMANCE_CONTEXT', '')}\n")
            lines.flush()
            sys.exit(lines.read() or None)
