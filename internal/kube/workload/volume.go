package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Claim is a separate volume for each pod of a StatefulSet.
type Claim struct {
	// Name of the volume in the pod.
	Name string
	// Size of the volume.
	Size resource.Quantity
	// Class is the storage class. Empty: the cluster's default.
	Class string
	// Disposable reports whether the volume has no data to keep, such as a cache. The volumes of a StatefulSet are deleted with their pods
	// if all are disposable, and kept otherwise.
	Disposable bool
}

// Fixed returns the claims with the sizes and classes of an existing StatefulSet, because the API server does not allow to change these. To
// grow a volume, change its PersistentVolumeClaim. It returns an error if a volume would shrink, which is impossible.
func Fixed(observed []any, claims ...Claim) ([]Claim, error) {
	previous := map[string]Claim{}
	for _, v := range observed {
		template, _ := v.(map[string]any)
		name := nestedString(template, "metadata", "name")
		size, err := resource.ParseQuantity(nestedString(template, "spec", "resources", "requests", "storage"))
		if err != nil {
			return nil, fmt.Errorf("cannot read the size of volume %q: %w", name, err)
		}
		previous[name] = Claim{Name: name, Size: size, Class: nestedString(template, "spec", "storageClassName")}
	}
	out := make([]Claim, len(claims))
	for i, c := range claims {
		out[i] = c
		w, ok := previous[c.Name]
		if !ok {
			continue
		}
		if c.Size.Cmp(w.Size) < 0 {
			return nil, fmt.Errorf("volume %q cannot shrink from %s to %s; set at least its current size", c.Name, w.Size.String(), c.Size.String())
		}
		out[i].Size, out[i].Class = w.Size, w.Class
	}
	return out, nil
}

// nestedString returns the text at a path of field names, or "".
func nestedString(m map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		m, _ = m[name].(map[string]any)
	}
	s, _ := m[path[len(path)-1]].(string)
	return s
}

// template returns the claim template of a StatefulSet.
func (c Claim) template() corev1.PersistentVolumeClaim {
	out := corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: c.Name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: c.Size}},
		},
	}
	if c.Class != "" {
		out.Spec.StorageClassName = new(c.Class)
	}
	return out
}

// pvcRetentionPolicy returns the policy for the volumes of removed pods and of a deleted StatefulSet: keep, unless all are disposable.
func pvcRetentionPolicy(claims []Claim) *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	if len(claims) == 0 {
		return nil
	}
	policy := appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	for _, c := range claims {
		if !c.Disposable {
			policy = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		}
	}
	return &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: policy, WhenScaled: policy}
}

// SharedVolume builds a PersistentVolumeClaim that pods mount by its name. Empty class: the cluster's default.
func SharedVolume(meta object.Meta, class, size, access string) *corev1.PersistentVolumeClaim {
	out := Claim{Name: meta.Name, Size: resource.MustParse(size), Class: class}.template()
	out.Namespace, out.Labels = meta.Namespace, meta.Labels
	out.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.PersistentVolumeAccessMode(access)}
	return &out
}
