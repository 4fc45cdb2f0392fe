{{- define "surplus.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "surplus.scheme" -}}
{{ if .Values.tlsSecret }}https{{ else }}http{{ end }}
{{- end }}
