"""The worker that `headgate serve` starts; the settings are handed over in the environment."""

import os

from headgate import logs
from headgate.settings.server import Settings
from headgate.worker import process

if __name__ == "__main__":
    logs.configure()
    process.run(Settings.taken_over(os.environ), process.stopping(with_parent=True))
