package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Claim is a volume of its own for each pod of a StatefulSet.
type Claim struct {
	// Name that containers mount it by.
	Name string
	// Size of the volume.
	Size resource.Quantity
	// Class of the storage. Empty: the cluster's default.
	Class string
	// Disposable says that the volume holds nothing which is missed, such as a cache. The volumes of a StatefulSet go with their pods if all
	// are disposable, and stay otherwise.
	Disposable bool
}

// Fixed are claims as a StatefulSet takes them that is there already, with the sizes and classes of its templates: the API server refuses
// any other. A volume that is to grow has to be grown itself. It is an error if one is to shrink, which no volume does.
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
			return nil, fmt.Errorf("volume %q cannot shrink from %s to %s; give at least its size", c.Name, w.Size.String(), c.Size.String())
		}
		out[i].Size, out[i].Class = w.Size, w.Class
	}
	return out, nil
}

// nestedString is the text at a path of field names, empty if there is none.
func nestedString(m map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		m, _ = m[name].(map[string]any)
	}
	s, _ := m[path[len(path)-1]].(string)
	return s
}

// template is the claim as a StatefulSet makes it for each pod.
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

// pvcRetentionPolicy says what becomes of the volumes when pods or the whole StatefulSet go: they stay, unless nothing is lost with them.
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

// SharedVolume is a volume that pods mount by its name. Without a class it is of the cluster's default.
func SharedVolume(meta object.Meta, class, size, access string) *corev1.PersistentVolumeClaim {
	out := Claim{Name: meta.Name, Size: resource.MustParse(size), Class: class}.template()
	out.Namespace, out.Labels = meta.Namespace, meta.Labels
	out.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.PersistentVolumeAccessMode(access)}
	return &out
}
