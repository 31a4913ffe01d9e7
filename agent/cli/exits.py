"""Exit statuses of the `barnacle` command."""

OK = 0
FAILED = 1
# Wrong usage or a configuration that is refused: trying again changes nothing
USAGE = 2
# What shells say of a program that ended by SIGINT and by SIGPIPE
INTERRUPTED = 130
NOBODY_READS = 141
