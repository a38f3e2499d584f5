"""What every handler shares: the HTTP resolver with access control and problem documents, and this process's parts."""

import gc

gc.set_threshold(20_000, 20, 20)  # A cold start makes 100,000 objects that stay: each 700 was a tenth of its time.
