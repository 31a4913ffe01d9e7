"""What each program may be told: one small grammar for each, in a file by the program's noun."""
