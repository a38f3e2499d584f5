"""The running service under faults, from outside: real kills, a proxy that breaks requests, events lost and doubled.

    python -m benchmarks.chaos --minutes 30 --seed 7

The proof in one process (benchmarks/proof) decides every step itself; this one shows what it can't: the SDK's
own repetitions, sockets, a store and a runtime that are killed and come back on the same data.
"""
