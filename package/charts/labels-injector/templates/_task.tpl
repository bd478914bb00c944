{{- define "c5c3.labels-injector.args" -}}
- labels-injector
- --tls-certs-dir=/certificates
- --log-format=json
{{- end }}

{{- define "c5c3.labels-injector.ports" -}}
- name: webhook
  containerPort: 8443
{{- end }}

{{- define "c5c3.labels-injector.secret" -}}
{{ .Values.certificate.secretName | default (printf "%s-certificate" (include "c5c3.fullname" .)) }}
{{- end }}

{{- /* Each has a section in docs/alerts.md. */}}
{{- define "c5c3.labels-injector.alerts" -}}
{{- $pods := printf "{%s}" (include "c5c3.series" .) }}
{{- $failed := printf "{%s,succeeded=\"false\"}" (include "c5c3.series" .) }}
{{- $runbooks := .Values.monitoring.alerts.runbooks }}
- alert: C5C3LabelsInjectorDown
  expr: absent(up{{ $pods }}) or sum by (namespace, job) (up{{ $pods }}) == 0
  for: 10m
  labels:
    severity: warning
  annotations:
    summary: No replica of {{ include "c5c3.fullname" . }} in {{ .Release.Namespace }} answers.
    runbook_url: {{ $runbooks }}#c5c3labelsinjectordown
- alert: C5C3LabelsInjectorErrors
  expr: sum by (namespace, job, source) (increase(labels_injector_patches_total{{ $failed }}[15m])) > 0
  for: 30m
  labels:
    severity: warning
  annotations:
    summary: The {{ "{{ $labels.source | toLower }}" }} of {{ include "c5c3.fullname" . }} can't label pods.
    runbook_url: {{ $runbooks }}#c5c3labelsinjectorerrors
- alert: C5C3LabelsInjectorKindUnknown
  expr: max by (namespace, job, kind) (increase(labels_injector_watch_failures_total{{ $pods }}[30m])) > 3
  for: 20m
  labels:
    severity: warning
  annotations:
    summary: A replica of {{ include "c5c3.fullname" . }} can't watch {{ "{{ $labels.kind }}" }}.
    runbook_url: {{ $runbooks }}#c5c3labelsinjectorkindunknown
{{- end }}
