import pytest_socket
from hypothesis import settings

# The same examples on every machine and in every run; a failure is then a failure for everybody.
settings.register_profile("livemem", deadline=None, derandomize=True, database=None)
settings.load_profile("livemem")


def pytest_runtest_setup() -> None:
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)
