{{- /* What the objects of a release are called. Names of some are longer by a word. Of a release's name with 48 characters or more, too little
of the charts' names is left to tell the charts of c5c3-operators apart. */}}
{{- define "c5c3.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else if gt (len .Release.Name) 47 -}}
{{- fail (printf "the name of the release, %s, has more than 47 characters, which leaves no room to tell its charts' objects apart: install it under a shorter name, or set fullnameOverride of %s to what its objects are to be called" .Release.Name .Chart.Name) }}
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
