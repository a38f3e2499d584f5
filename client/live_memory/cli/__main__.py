"""`python -m live_memory.cli`, where the program is not installed."""

from live_memory.cli.entry import main

if __name__ == "__main__":
    main()
