{{- /* What the pods connect to. */}}
{{- define "c5c3.network" -}}
{{- if .Values.networkPolicy.enabled }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "c5c3.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "c5c3.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - port: metrics
          protocol: TCP
  egress:
    - ports:
        - port: 53
          protocol: UDP
        - port: 53
          protocol: TCP
        {{- range concat .Values.networkPolicy.apiServerPorts .Values.networkPolicy.egressPorts | uniq }}
        - port: {{ . }}
          protocol: TCP
        {{- end }}
{{- end }}
{{- end }}
