{{- /* The pods of a program. */}}
{{- define "c5c3.deployment" -}}
{{- $task := include "c5c3.task" . }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "c5c3.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "c5c3.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      {{- include "c5c3.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "c5c3.labels" . | nindent 8 }}
      {{- with .Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "c5c3.fullname" . }}
      {{- with .Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: {{ $task }}
          image: {{ include "c5c3.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          command: [/c5c3]
          args:
            {{- include (printf "c5c3.%s.args" $task) . | nindent 12 }}
          env:
            - name: RUST_LOG
              value: {{ .Values.log | quote }}
            {{- with .Values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - name: metrics
              containerPort: 8080
            {{- with include (printf "c5c3.%s.ports" $task) . }}
            {{- . | nindent 12 }}
            {{- end }}
          livenessProbe:
            httpGet:
              path: /healthz
              port: metrics
          readinessProbe:
            httpGet:
              path: /readyz
              port: metrics
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          {{- with include (printf "c5c3.%s.secret" $task) . }}
          volumeMounts:
            - name: certificates
              mountPath: /certificates
              readOnly: true
          {{- end }}
      {{- with include (printf "c5c3.%s.secret" $task) . }}
      volumes:
        - name: certificates
          secret:
            secretName: {{ . }}
      {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "c5c3.selector" . | nindent 14 }}
{{- end }}
