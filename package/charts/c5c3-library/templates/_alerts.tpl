{{- /* The alerts of a program, if the release has them. */}}
{{- define "c5c3.alerts" -}}
{{- if .Values.monitoring.alerts.enabled }}
{{- if not .Values.monitoring.enabled }}
{{- fail "monitoring.alerts.enabled needs monitoring.enabled, since the alerts are of what the ServiceMonitor has Prometheus read" }}
{{- end }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "c5c3.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
    {{- with .Values.monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    - name: {{ include "c5c3.fullname" . }}
      rules:
        {{- include (printf "c5c3.%s.alerts" (include "c5c3.task" .)) . | nindent 8 }}
{{- end }}
{{- end }}

{{- /* The series of a release's pods. The job is the Service that the ServiceMonitor selects. */}}
{{- define "c5c3.series" -}}
{{ printf "namespace=%q,job=%q" .Release.Namespace (include "c5c3.fullname" .) }}
{{- end }}

{{- /* Each has a section in docs/alerts.md. */}}
{{- define "c5c3.operator.alerts" -}}
{{- $pods := printf "{%s}" (include "c5c3.series" .) }}
{{- $writes := printf "{%s,verb=~\"apply|create|delete\"}" (include "c5c3.series" .) }}
{{- $volumes := "{persistentvolumeclaim=~\"storage-openstack-db-[0-9]+\"}" }}
{{- $runbooks := .Values.monitoring.alerts.runbooks }}
- alert: C5C3OperatorDown
  expr: absent(up{{ $pods }}) or sum by (namespace, job) (up{{ $pods }}) == 0
  for: 10m
  labels:
    severity: critical
  annotations:
    summary: No replica of {{ include "c5c3.fullname" . }} in {{ .Release.Namespace }} answers.
    runbook_url: {{ $runbooks }}#c5c3operatordown
- alert: C5C3OperatorWithoutLeader
  expr: max by (namespace, job, operator) (operator_leading{{ $pods }}) == 0
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: No replica of {{ include "c5c3.fullname" . }} leads {{ "{{ $labels.operator }}" }}.
    runbook_url: {{ $runbooks }}#c5c3operatorwithoutleader
- alert: C5C3OperatorKindUnknown
  expr: max by (namespace, job, kind) (operator_unknown{{ $pods }}) > 0
  for: 10m
  labels:
    severity: critical
  annotations:
    summary: {{ include "c5c3.fullname" . }} can't read objects of the kind {{ "{{ $labels.kind }}" }}.
    runbook_url: {{ $runbooks }}#c5c3operatorkindunknown
- alert: C5C3OperatorErrors
  expr: sum by (namespace, job, operator, reason) (increase(operator_errors_total{{ $pods }}[15m])) > 3
  for: 30m
  labels:
    severity: warning
  annotations:
    summary: Reconciles of {{ "{{ $labels.operator }}" }} keep failing with the reason {{ "{{ $labels.reason }}" }}.
    runbook_url: {{ $runbooks }}#c5c3operatorerrors
- alert: C5C3OperatorBehind
  expr: max by (namespace, job) (min_over_time(operator_queued{{ $pods }}[15m])) > 10
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: For half an hour, {{ include "c5c3.fullname" . }} has not kept up with its resources.
    runbook_url: {{ $runbooks }}#c5c3operatorbehind
- alert: C5C3OperatorSlow
  expr: histogram_quantile(0.99, sum by (namespace, job, le) (rate(operator_reconcile_duration_seconds_bucket{{ $pods }}[15m]))) > 8.192
  for: 30m
  labels:
    severity: warning
  annotations:
    summary: One of 100 reconciles of {{ include "c5c3.fullname" . }} takes longer than 8 seconds.
    runbook_url: {{ $runbooks }}#c5c3operatorslow
- alert: C5C3OperatorWrites
  expr: sum by (namespace, job) (rate(operator_api_calls_total{{ $writes }}[15m])) > 1
  for: 1h
  labels:
    severity: warning
  annotations:
    summary: {{ include "c5c3.fullname" . }} has been writing more than one object a second for an hour.
    runbook_url: {{ $runbooks }}#c5c3operatorwrites
{{- if eq .Chart.Name "c5c3-operator" }}
- alert: C5C3DatabaseNearlyFull
  expr: min by (namespace, persistentvolumeclaim) (kubelet_volume_stats_available_bytes{{ $volumes }} / kubelet_volume_stats_capacity_bytes{{ $volumes }}) < 0.1
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: Less than a tenth of {{ "{{ $labels.persistentvolumeclaim }}" }} in {{ "{{ $labels.namespace }}" }}, a volume of MariaDB, is free.
    runbook_url: {{ $runbooks }}#c5c3databasenearlyfull
{{- end }}
{{- if eq .Chart.Name "kubeconfig-operator" }}
- alert: C5C3KubeconfigNotRenewed
  expr: max by (namespace, job, resource) (shoot_kubeconfig_overdue{{ $pods }}) > 0
  for: 15m
  labels:
    severity: critical
  annotations:
    summary: More than half of the life of the kubeconfig {{ "{{ $labels.resource }}" }} has passed, and it can't be renewed.
    runbook_url: {{ $runbooks }}#c5c3kubeconfignotrenewed
{{- end }}
{{- if eq .Chart.Name "ovn-operator" }}
- alert: C5C3OVNWithoutLeader
  expr: max by (namespace, job, resource, database) (ovn_database_member_leader{{ $pods }}) == 0
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: No member of {{ "{{ $labels.database }}" }} of {{ "{{ $labels.resource }}" }} is its leader.
    runbook_url: {{ $runbooks }}#c5c3ovnwithoutleader
- alert: C5C3OVNMemberDown
  expr: min by (namespace, job, resource, database) (ovn_database_member_connected{{ $pods }}) == 0 and max by (namespace, job, resource, database) (ovn_database_member_leader{{ $pods }}) == 1
  for: 30m
  labels:
    severity: warning
  annotations:
    summary: A member of {{ "{{ $labels.database }}" }} of {{ "{{ $labels.resource }}" }} is down, while the others have a leader.
    runbook_url: {{ $runbooks }}#c5c3ovnmemberdown
- alert: C5C3OVNUnreachable
  expr: max by (namespace, job, resource, database) (ovn_database_member_connected{{ $pods }}) unless max by (namespace, job, resource, database) (ovn_database_member_leader{{ $pods }})
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: {{ include "c5c3.fullname" . }} can't find out whether {{ "{{ $labels.database }}" }} of {{ "{{ $labels.resource }}" }} has a leader.
    runbook_url: {{ $runbooks }}#c5c3ovnunreachable
- alert: C5C3OVNNorthdBehind
  expr: max by (namespace, job, resource) (min_over_time(ovn_northd_lag{{ $pods }}[10m])) > 0
  for: 5m
  labels:
    severity: critical
  annotations:
    summary: For a quarter of an hour, northd of {{ "{{ $labels.resource }}" }} has been behind the northbound database.
    runbook_url: {{ $runbooks }}#c5c3ovnnorthdbehind
{{- end }}
{{- end }}
