{{- /* What the objects of a release are called. Names of some are longer by a word. */}}
{{- define "c5c3.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "c5c3.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "c5c3.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: c5c3
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "c5c3.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "c5c3.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default (printf "v%s" $.Chart.AppVersion) }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Which program of the image runs: its arguments, ports and certificate are the templates c5c3.<task>.args, .ports and .secret. */}}
{{- define "c5c3.task" -}}
{{ ternary "operator" .Chart.Name (hasSuffix "-operator" .Chart.Name) }}
{{- end }}
