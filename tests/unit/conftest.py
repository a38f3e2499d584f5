import pytest
import pytest_socket

from local.front.httpd import Server


def pytest_runtest_setup() -> None:
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)


@pytest.fixture
def serve():
    """Starts a service that answers as the function says."""
    servers = []

    def start(answer):
        servers.append(Server("127.0.0.1", 0, answer, max_body=10**6))
        servers[-1].start()
        return servers[-1].url

    yield start
    for server in servers:
        server.stop(grace_seconds=0)
