{{- /* What the objects of a release are called. */}}
{{- define "c5c3.fullname" -}}
{{ .Release.Name }}
{{- end }}

{{- define "c5c3.labels" -}}
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
