{{- define "task" -}}
operator
{{- end }}

{{- define "args" -}}
- operator
- {{ trimSuffix "-operator" .Chart.Name }}
- --log-format=json
{{- with .Values.watchNamespaces }}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- end }}

{{- define "ports" -}}
{{- end }}

{{- define "secret" -}}
{{- end }}
