{{- define "headgate.name" -}}
{{- printf "%s-headgate" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "headgate.labels" -}}
app.kubernetes.io/name: headgate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "headgate.selector" -}}
app.kubernetes.io/name: headgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* What the pods of both kinds share, from their annotations on. Takes the root and the part, "server" or "worker". */}}
{{- define "headgate.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "headgate.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
  annotations:
    # Pods are made anew when their settings change.
    checksum/settings: {{ include (print $root.Template.BasePath "/settings.yaml") $root | sha256sum }}
spec:
  serviceAccountName: {{ include "headgate.name" $root }}
  automountServiceAccountToken: {{ eq .part "worker" }}
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- with $root.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  volumes:
    - name: settings
      configMap: {name: {{ include "headgate.name" $root }}}
    # The index and compiled code, which any process makes again.
    - name: home
      emptyDir: {}
    - name: tmp
      emptyDir: {}
{{- end }}

{{/* What the containers of both kinds share. */}}
{{- define "headgate.container" -}}
{{- $root := .root -}}
image: {{ index $root.Values.image .part | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  - name: HEADGATE_STORE
    valueFrom:
      secretKeyRef:
        name: {{ $root.Values.store.existingSecret }}
        key: {{ $root.Values.store.key }}
  - name: HEADGATE_CONFIG
    value: /etc/headgate/headgate.toml
{{- with $root.Values.environmentSecrets }}
envFrom:
  {{- range . }}
  - secretRef: {name: {{ . }}}
  {{- end }}
{{- end }}
volumeMounts:
  - {name: settings, mountPath: /etc/headgate, readOnly: true}
  - {name: home, mountPath: /var/lib/headgate}
  - {name: tmp, mountPath: /tmp}
resources: {{- toYaml (index $root.Values .part).resources | nindent 2 }}
{{- end }}
