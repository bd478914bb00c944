{{- /* A release of an operator. */}}
{{- define "c5c3.operator" -}}
{{- include "c5c3.checkDefinitions" (list . (include "c5c3.operator.definitions" . | fromYamlArray)) }}
{{- include "c5c3.access" . }}
---
{{ include "c5c3.program" . }}
{{- end }}

{{- define "c5c3.operator.args" -}}
- operator
- {{ trimSuffix "-operator" .Chart.Name }}
- --log-format=json
{{- with .Values.watchNamespaces }}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- end }}

{{- define "c5c3.operator.ports" -}}
{{- end }}

{{- define "c5c3.operator.secret" -}}
{{- end }}

{{- /* The definitions of what the operator reconciles. */}}
{{- define "c5c3.operator.definitions" -}}
{{- range $group, $resources := .Files.Get "files/resources.yaml" | fromYaml }}
{{- range $resources }}
- {{ . }}.{{ $group }}
{{- end }}
{{- end }}
{{- end }}

{{- define "c5c3.operator.notes" -}}
{{ .Chart.Name }} runs in {{ .Release.Namespace }}. It reconciles what these definitions, of the chart c5c3-crds, define:

{{ include "c5c3.operator.definitions" . | trim | indent 2 }}

  kubectl get openstack --all-namespaces
{{- end }}
