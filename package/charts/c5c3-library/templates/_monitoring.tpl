{{- /* What scrapes the pods. */}}
{{- define "c5c3.monitoring" -}}
{{- if .Values.monitoring.enabled }}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "c5c3.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
spec:
  clusterIP: None
  selector:
    {{- include "c5c3.selector" . | nindent 4 }}
  ports:
    - name: metrics
      port: 8080
      targetPort: metrics
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "c5c3.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
    {{- with .Values.monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "c5c3.selector" . | nindent 6 }}
  endpoints:
    - port: metrics
{{- end }}
{{- end }}
