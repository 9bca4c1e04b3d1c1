{{- define "everpost.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Labels of an object. Called with the context and the name of the component. */}}
{{- define "everpost.labels" -}}
{{ include "everpost.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "everpost.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "everpost.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Ends with a sentence if the values do not make an installation that can work. */}}
{{- define "everpost.check" -}}
{{- if not .Values.apiUrl }}
{{- fail "apiUrl is required: the public address of the API, for example https://mail.example.com" }}
{{- end }}
{{- if not .Values.temporal.address }}
{{- fail "temporal.address is required: the address of a Temporal server, for example temporal-frontend.temporal:7233" }}
{{- end }}
{{- if not (or .Values.database.url .Values.database.existingSecret) }}
{{- fail "A database is required: set database.url, or database.existingSecret to a Secret with the key DATABASE_URL" }}
{{- end }}
{{- if and .Values.database.url .Values.database.existingSecret }}
{{- fail "Set one of database.url and database.existingSecret, not both" }}
{{- end }}
{{- if not (or .Values.jwtSecret .Values.existingSecret) }}
{{- fail "A secret is required: set jwtSecret (openssl rand -base64 48), or existingSecret to a Secret with the key JWT_SECRET" }}
{{- end }}
{{- if and .Values.jwtSecret .Values.existingSecret }}
{{- fail "Set one of jwtSecret and existingSecret, not both" }}
{{- end }}
{{- if eq .Values.uploads.driver "local" }}
{{- if or (gt (int .Values.api.replicas) 1) .Values.api.autoscaling.enabled }}
{{- fail "uploads.driver=local allows one replica of the API, without autoscaling: api.replicas=1. For more use uploads.driver=s3" }}
{{- end }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.metrics.enabled) }}
{{- fail "serviceMonitor.enabled needs metrics.enabled" }}
{{- end }}
{{- range $name, $_ := .Values.env }}
{{- if has $name (include "everpost.ownSettings" $ | fromYamlArray) }}
{{- fail (printf "env.%s is set by the chart: use the value for it instead" $name) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Settings that follow from other values. */}}
{{- define "everpost.ownSettings" -}}
[API_URL, DATABASE_MIGRATE_ON_START, DATABASE_URL, HOST, JOURNAL_DIR, JWT_SECRET, METRICS_HOST, METRICS_PORT, METRICS_TOKEN, NODE_ENV, PORT, STORAGE_DRIVER, STORAGE_LOCAL_DIR, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, WORKER_HEALTH_PORT]
{{- end }}

{{/* The settings that are not secret. */}}
{{- define "everpost.settings" -}}
NODE_ENV: production
API_URL: {{ .Values.apiUrl | quote }}
HOST: 0.0.0.0
PORT: '8080'
WORKER_HEALTH_PORT: '8081'
TEMPORAL_ADDRESS: {{ .Values.temporal.address | quote }}
TEMPORAL_NAMESPACE: {{ .Values.temporal.namespace | quote }}
STORAGE_DRIVER: {{ .Values.uploads.driver | quote }}
STORAGE_LOCAL_DIR: /data/uploads
JOURNAL_DIR: /data/journal
DATABASE_MIGRATE_ON_START: 'false'
METRICS_PORT: {{ ternary .Values.metrics.port 0 .Values.metrics.enabled | quote }}
{{- if .Values.ingress.enabled }}
TRUST_PROXY: 'true'
{{- end }}
METRICS_HOST: {{ ternary "0.0.0.0" "127.0.0.1" .Values.metrics.enabled }}
{{- end }}

{{/* A value as text. Helm reads whole numbers as fractions, and would print large ones as 1e+06. */}}
{{- define "everpost.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* The secret settings that are values. */}}
{{- define "everpost.secretSettings" -}}
{{- range $name, $value := .Values.env }}
{{ $name }}: {{ include "everpost.text" $value | quote }}
{{- end }}
{{- with .Values.jwtSecret }}
JWT_SECRET: {{ . | quote }}
{{- end }}
{{- with .Values.database.url }}
DATABASE_URL: {{ . | quote }}
{{- end }}
{{- if .Values.metrics.token }}
METRICS_TOKEN: {{ .Values.metrics.token | quote }}
{{- else if .Values.jwtSecret }}
METRICS_TOKEN: {{ printf "metrics of %s" .Values.jwtSecret | sha256sum }}
{{- end }}
{{- end }}

{{/* The Secret with the token of the metrics. */}}
{{- define "everpost.tokenSecret" -}}
{{- if or .Values.metrics.token .Values.jwtSecret }}{{ include "everpost.fullname" . }}
{{- else }}{{ .Values.existingSecret }}
{{- end }}
{{- end }}

{{/* Variables that one Secret or another has. */}}
{{- define "everpost.secretEnv" -}}
{{- with .Values.database.existingSecret }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: DATABASE_URL }
{{- end }}
{{- with .Values.existingSecret }}
- name: JWT_SECRET
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: JWT_SECRET }
{{- end }}
{{- end }}

{{- define "everpost.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "everpost.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
