{{- define "millrace.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "millrace.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "millrace.labels" -}}
{{ include "millrace.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "millrace.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "millrace.secret" -}}
{{ .Values.existingSecret | default (printf "%s-config" (include "millrace.name" .)) }}
{{- end -}}

{{- define "millrace.scheme" -}}
{{ if .Values.tls.secret }}https{{ else }}http{{ end }}
{{- end -}}

{{- /* Refuses values that can't work, and says what to change. */ -}}
{{- define "millrace.check" -}}
{{- if and (not .Values.existingSecret) (not .Values.config) -}}
{{- fail "a server that others reach needs tokens: set existingSecret to a secret with millrace.toml, or config to its text (`millrace token new` prints the lines)" -}}
{{- end -}}
{{- if and (eq .Values.store "sqlite") (gt (int .Values.replicas) 1) -}}
{{- fail "a store on SQLite has one node: set replicas to 1, or store to postgres" -}}
{{- end -}}
{{- if and (eq .Values.store "postgres") (not .Values.postgres.url) -}}
{{- fail "set postgres.url to the address of the database" -}}
{{- end -}}
{{- if and (eq .Values.store "postgres") .Values.archive.enabled -}}
{{- fail "archive is for a store on SQLite: a database keeps its own log" -}}
{{- end -}}
{{- if and .Values.tls.ca (not .Values.tls.secret) -}}
{{- fail "tls.ca needs tls.secret" -}}
{{- end -}}
{{- end -}}
