"""Start one command from a small process, so that its peak memory is its own.

The kernel counts the memory of the process that forks into the peak of the one it starts, and the benchmark itself is
larger than some of what it measures. Prints ``CODE USER SYSTEM PEAK_KIB`` to the file named first.
"""

import os
import sys

_, out, *argv = sys.argv
child = os.fork()
if child == 0:
    os.execvp(argv[0], argv)
_, status, usage = os.wait4(child, 0)
with open(out, "w") as stream:
    stream.write(f"{os.waitstatus_to_exitcode(status)} {usage.ru_utime} {usage.ru_stime} {usage.ru_maxrss}")
