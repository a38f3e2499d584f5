# A self-hosted server (docs/self-hosting.md): the package `live-memory[server,s3]`, and nothing else.
#
#   docker build --tag live-memory .            `make image` also where no registry is reached
#
# What it keeps is in the bucket: the container may be thrown away. It runs as a user without a name, on a root file system that may be read-only.
ARG BASE=docker.io/library/python:3.13-slim-trixie

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python3 -m venv /opt/live-memory
# All versions and hashes are locked; nothing is compiled.
COPY requirements-image.txt /source/
RUN /opt/live-memory/bin/pip install --quiet --require-hashes --only-binary=:all: --requirement /source/requirements-image.txt
COPY . /source/
RUN cd /source && python3 -m scripts.wheel /tmp/dist \
    && /opt/live-memory/bin/pip install --quiet --no-deps --no-index /tmp/dist/*.whl \
    && /opt/live-memory/bin/pip uninstall --quiet --yes pip

FROM ${BASE}
COPY --from=build /opt/live-memory /opt/live-memory
RUN mkdir -m 0700 /data && chown 10001:10001 /data
ENV PATH=/opt/live-memory/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 HOME=/data PYTHONDONTWRITEBYTECODE=1 \
    LIVEMEM_DATA_DIR=/data/server LIVEMEM_LOGS=stdout
USER 10001:10001
WORKDIR /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:3000/healthz', timeout=4)"]
LABEL org.opencontainers.image.title="Live Memory" org.opencontainers.image.licenses="Apache-2.0"
ENTRYPOINT ["livemem"]
# The port is one of the container: which of its host's addresses shows it is said by who runs it. It does not start without a store and a key.
CMD ["serve", "--host", "0.0.0.0"]
