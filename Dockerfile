# Mapyard as an image: `docker build -t mapyard .`, then docs/install.md. `make fresh-root` runs the
# same steps without a container engine.
FROM debian:13-slim AS build

# No compiler: the C of routing is compiled by zig, which the build fetches for itself.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*

# More of them with --build-arg, such as "--extra geotiff" for heights in GeoTIFF (120 MB).
ARG EXTRAS="--extra mcp --extra postgres --extra redis"

# What is installed changes less often than the source: a layer of its own.
WORKDIR /src
COPY pyproject.toml uv.lock ./
RUN python3 -m venv /uv \
 && /uv/bin/pip install --no-cache-dir uv==0.13.9 \
 && python3 -m venv --without-pip /opt/mapyard \
 && /uv/bin/uv export --frozen --quiet --no-dev --no-emit-project --no-annotate \
      ${EXTRAS} -o /requirements.txt \
 && /uv/bin/uv pip install --no-cache --compile-bytecode --require-hashes \
      --python /opt/mapyard/bin/python -r /requirements.txt

COPY . .
RUN /uv/bin/uv pip install --no-cache --compile-bytecode --no-deps \
      --python /opt/mapyard/bin/python .

FROM debian:13-slim
LABEL org.opencontainers.image.title="Mapyard" \
      org.opencontainers.image.description="The whole map API out of one OpenStreetMap extract" \
      org.opencontainers.image.licenses="Apache-2.0"

RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 tini \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 mapyard \
 && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin mapyard \
 && install -d -m 0700 -o mapyard -g mapyard /data

COPY --from=build /opt/mapyard /opt/mapyard

ENV PATH=/opt/mapyard/bin:$PATH \
    MAPYARD_DATA=/data \
    MAPYARD_HOST=0.0.0.0 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

# All that is written is in /data, and what is in hand for a moment in /tmp; the rest may be read-only.
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 4000

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["/opt/mapyard/bin/python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ.get('MAPYARD_PORT', '4000') + '/healthz', timeout=4)"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/tini", "--", "/opt/mapyard/bin/mapyard"]
CMD ["serve"]
