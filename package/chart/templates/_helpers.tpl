{{/* Labels of every object. */}}
{{- define "cobaltcore.labels" -}}
app.kubernetes.io/part-of: cobaltcore
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The name of the Function, as Compositions name it. */}}
{{- define "cobaltcore.function" -}}
c5c3-function-cobaltcore
{{- end }}

{{/* The tag of our packages. */}}
{{- define "cobaltcore.tag" -}}
{{- printf "v%s" (.Values.packages.version | default .Chart.AppVersion | trimPrefix "v") -}}
{{- end }}

{{/* Crossplane's user name. */}}
{{- define "cobaltcore.crossplane" -}}
{{- printf "system:serviceaccount:%s:%s" .Release.Namespace .Values.crossplane.serviceAccount -}}
{{- end }}
