{{- /* The pods of a program, and what is about them. */}}
{{- define "c5c3.program" -}}
{{ include "c5c3.deployment" . }}
---
{{ include "c5c3.availability" . }}
---
{{ include "c5c3.monitoring" . }}
---
{{ include "c5c3.alerts" . }}
---
{{ include "c5c3.network" . }}
{{- end }}
