"""Run a command that the kernel kills when its parent dies: `python _with_parent.py PARENT_PID COMMAND...`.

A separate program, because Python code between fork and exec is unsafe in a parent with threads. Linux only: prctl(2),
PR_SET_PDEATHSIG.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
    sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent has gone already")
os.execvp(sys.argv[2], sys.argv[2:])
