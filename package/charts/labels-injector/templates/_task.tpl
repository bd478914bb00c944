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
