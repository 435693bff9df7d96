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

{{/* Metadata of an admission policy and of its binding. They are mandatory: functions look for them by label and name, and check the
version. Takes the context and the name. */}}
{{- define "cobaltcore.policyMetadata" -}}
{{- $root := index . 0 }}
{{- $admission := $root.Files.Get "generated/admission.yaml" | fromYaml -}}
metadata:
  name: {{ index . 1 }}
  labels:
    {{- include "cobaltcore.labels" $root | nindent 4 }}
  annotations:
    {{ $admission.annotation }}: {{ $admission.version | quote }}
{{- end }}

{{/* The binding of an admission policy: whatever it refuses is denied, to everybody. Takes the context and the name. */}}
{{- define "cobaltcore.policyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
{{ include "cobaltcore.policyMetadata" . }}
spec:
  policyName: {{ index . 1 }}
  validationActions: [Deny]
{{- end }}

{{/* Match conditions of a policy on claims: those who may do what it refuses. */}}
{{- define "cobaltcore.exempt" -}}
- name: not-crossplane
  expression: request.userInfo.username != {{ include "cobaltcore.crossplane" . | squote }}
{{- with .Values.admission.exemptGroups }}
- name: not-exempt
  expression: '!request.userInfo.groups.exists(g, g in {{ toJson . }})'
{{- end }}
{{- end }}
