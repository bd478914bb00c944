{{- define "task" -}}
labels-injector
{{- end }}

{{- define "args" -}}
- labels-injector
- --tls-certs-dir=/certificates
- --log-format=json
{{- end }}

{{- define "ports" -}}
- name: webhook
  containerPort: 8443
{{- end }}

{{- define "secret" -}}
{{ .Values.certificate.secretName | default (printf "%s-certificate" .Release.Name) }}
{{- end }}
