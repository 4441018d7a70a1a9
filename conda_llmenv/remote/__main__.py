"""What clients start that know no kernel provisioners: it says why there is no kernel."""

from __future__ import annotations

import sys

TEXT = (
    "this kernel runs on another host and is started by a provisioner, which this client does not know: "
    "use one built on jupyter_client 8 or later, in a Python where conda-llmenv is installed\n"
)

if __name__ == "__main__":
    sys.stderr.write(TEXT)
    sys.exit(1)
