{{/* The Deployment of the API or the worker. Called with the context, the component and its values. */}}
{{- define "everpost.deployment" -}}
{{- $root := .root -}}
{{- $own := .own -}}
{{- $name := include "everpost.fullname" $root -}}
{{- $isApi := eq .component "api" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}-{{ .component }}
  labels:
    {{- include "everpost.labels" . | nindent 4 }}
spec:
  {{- if not $own.autoscaling.enabled }}
  replicas: {{ $own.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  {{- if and $isApi (eq $root.Values.uploads.driver "local") }}
  strategy: { type: Recreate }
  {{- else }}
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  {{- end }}
  selector:
    matchLabels:
      {{- include "everpost.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "everpost.labels" . | nindent 8 }}
      annotations:
        checksum/config: {{ printf "%s %s" (include "everpost.settings" $root) (include "everpost.secretSettings" $root) | sha256sum }}
        {{- with $own.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ $own.terminationGracePeriodSeconds }}
      securityContext:
        {{- include "everpost.podSecurity" $root | nindent 8 }}
      {{- with $root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "everpost.selector" . | nindent 14 }}
      {{- with $own.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "everpost.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          command: [node, dist/{{ .component }}/main.js]
          securityContext:
            {{- include "everpost.containerSecurity" $root | nindent 12 }}
          envFrom:
            - configMapRef: { name: {{ $name }} }
            {{- with $root.Values.existingSecret }}
            - secretRef: { name: {{ . }} }
            {{- end }}
            - secretRef: { name: {{ $name }} }
          {{- if or $root.Values.existingSecret $root.Values.database.existingSecret $root.Values.metrics.enabled }}
          env:
            {{- with include "everpost.secretEnv" $root | trim }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- if $root.Values.metrics.enabled }}
            - name: METRICS_TOKEN
              valueFrom:
                secretKeyRef: { name: {{ include "everpost.tokenSecret" $root }}, key: METRICS_TOKEN }
            {{- end }}
          {{- end }}
          ports:
            {{- if $isApi }}
            - { name: http, containerPort: 8080 }
            {{- else }}
            - { name: health, containerPort: 8081 }
            {{- end }}
            {{- if $root.Values.metrics.enabled }}
            - { name: metrics, containerPort: {{ $root.Values.metrics.port }} }
            {{- end }}
          startupProbe:
            httpGet: { path: {{ ternary "/health" "/health/live" $isApi }}, port: {{ ternary "http" "health" $isApi }} }
            periodSeconds: 3
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: {{ ternary "/health" "/health/live" $isApi }}, port: {{ ternary "http" "health" $isApi }} }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: {{ ternary "/health/ready?checks=database" "/health/ready" $isApi | quote }}, port: {{ ternary "http" "health" $isApi }} }
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- toYaml $own.resources | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- if not $isApi }}
            - { name: journal, mountPath: /data/journal }
            {{- end }}
            {{- if eq $root.Values.uploads.driver "local" }}
            - { name: uploads, mountPath: /data/uploads }
            {{- end }}
      volumes:
        - { name: tmp, emptyDir: {} }
        {{- if not $isApi }}
        # A container that is restarted in its pod finds its journal again.
        - { name: journal, emptyDir: { sizeLimit: {{ $own.journalSize }} } }
        {{- end }}
        {{- if eq $root.Values.uploads.driver "local" }}
        - { name: uploads, persistentVolumeClaim: { claimName: {{ $root.Values.uploads.existingClaim | default (printf "%s-uploads" $name) }} } }
        {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}-{{ .component }}
  labels:
    {{- include "everpost.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "everpost.selector" . | nindent 6 }}
{{- if $own.autoscaling.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}-{{ .component }}
  labels:
    {{- include "everpost.labels" . | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }}-{{ .component }} }
  minReplicas: {{ $own.autoscaling.minReplicas }}
  maxReplicas: {{ $own.autoscaling.maxReplicas }}
  metrics:
    {{- if eq ($own.autoscaling.metric | default "cpu") "queue" }}
    - type: External
      external:
        metric: { name: everpost_queue_age_seconds }
        target: { type: Value, value: {{ $own.autoscaling.queueAgeSeconds | quote }} }
    {{- else }}
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ $own.autoscaling.cpu }} }
    {{- end }}
{{- end }}
{{- end }}
