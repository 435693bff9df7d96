package c5c3

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestReferences(t *testing.T) {
	name := func(s string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: s} }
	pod := &corev1.PodSpec{
		InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: name("s1")}},
			{SecretRef: &corev1.SecretEnvSource{}}, // of no name: the API server refuses the pod
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name("c0")}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name("optional"), Optional: new(true)}},
		}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Name: "PLAIN", Value: "x"},
			{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: name("s2")}}},
			{ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: name("c1")}}},
		}}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s2"}}},
			{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: name("c2")}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: name("s3")}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: name("c3")}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: name("optional"), Optional: new(true)}},
			}}}},
		},
	}
	want := []Reference{{"Secret", "s1"}, {"Secret", "s2"}, {"Secret", "s3"}, {"ConfigMap", "c0"}, {"ConfigMap", "c1"}, {"ConfigMap", "c2"}, {"ConfigMap", "c3"}}
	if got := References(pod); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
