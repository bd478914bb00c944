{{- /* What an operator may do, and what its users may. */}}
{{- define "c5c3.access" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "c5c3.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- $ofCluster := .Files.Get "files/cluster-rules.yaml" | trim }}
{{- if and .Values.watchNamespaces (regexMatch "(?m)^  - namespaces$" $ofCluster) }}
{{- fail "this operator works in namespaces that it creates: leave watchNamespaces empty" }}
{{- end }}
{{- if .Values.watchNamespaces }}
{{- range .Values.watchNamespaces }}
---
# What the operator's logic composes and looks at in a watched namespace, and nothing else.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "c5c3.fullname" $ }}-controller
  namespace: {{ . }}
  labels:
    {{- include "c5c3.labels" $ | nindent 4 }}
rules:
{{ $.Files.Get "files/rules.yaml" | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "c5c3.fullname" $ }}-controller
  namespace: {{ . }}
  labels:
    {{- include "c5c3.labels" $ | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "c5c3.fullname" $ }}-controller
subjects:
  - kind: ServiceAccount
    name: {{ include "c5c3.fullname" $ }}
    namespace: {{ $.Release.Namespace }}
{{- end }}
{{- end }}
{{- if or $ofCluster (not .Values.watchNamespaces) }}
---
# What the operator's logic composes and looks at, and nothing else.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "c5c3.fullname" . }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
rules:
{{- with $ofCluster }}
{{ . }}
{{- end }}
{{- if not .Values.watchNamespaces }}
{{ .Files.Get "files/rules.yaml" | trim }}
# To see when a kind is installed.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [list, watch]
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "c5c3.fullname" . }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "c5c3.fullname" . }}
subjects:
  - kind: ServiceAccount
    name: {{ include "c5c3.fullname" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}
---
# Which replica works.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "c5c3.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{ .Chart.Name }}]
    verbs: [get, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "c5c3.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ include "c5c3.fullname" . }}
subjects:
  - kind: ServiceAccount
    name: {{ include "c5c3.fullname" . }}
    namespace: {{ .Release.Namespace }}
---
# Whoever may view a namespace may view the operator's resources in it.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "c5c3.fullname" . }}-view
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
    rbac.authorization.k8s.io/aggregate-to-view: "true"
rules:
  {{- include "c5c3.operator.rules" (list . "get" "list" "watch") | trim | nindent 2 }}
---
# For the platform team: bind it where they may edit them. It isn't part of Kubernetes' role `edit`, since the author of an image
# or of configuration acts with the rights of the pods that are created from it.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "c5c3.fullname" . }}-edit
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
rules:
  {{- include "c5c3.operator.rules" (list . "create" "delete" "deletecollection" "patch" "update") | trim | nindent 2 }}
{{- end }}

{{- /* Rules of a role for what the operator reconciles. Takes the root and the verbs. */}}
{{- define "c5c3.operator.rules" -}}
{{- $verbs := rest . }}
{{- range $group, $resources := (first .).Files.Get "files/resources.yaml" | fromYaml -}}
- apiGroups: [{{ $group }}]
  resources: {{ toJson $resources }}
  verbs: {{ toJson $verbs }}
{{ end }}
{{- end }}
