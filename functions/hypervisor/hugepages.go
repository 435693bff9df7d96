package hypervisor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
)

// pageSizes lists the sizes of huge pages: the API name and KiB, the unit of Linux and Nova.
var pageSizes = []struct {
	size string
	kib  int
}{{"2Mi", 2 << 10}, {"1Gi", 1 << 20}}

// pages returns how many huge pages of each size servers of a group may use (nova-compute.sh). Pages of other sizes are for pods; the
// libvirt pod has none of them. Empty: all pages that the node's own libvirt has.
func (m *model) pages(g *group) string {
	if !m.libvirtManaged() && len(g.node.HugePages) == 0 {
		return ""
	}
	counts := map[string]int32{}
	for _, p := range g.node.HugePages {
		counts[p.Size] = p.Count
	}
	out := make([]string, len(pageSizes))
	for i, p := range pageSizes {
		out[i] = fmt.Sprintf("%d:%d", p.kib, counts[p.size])
	}
	return strings.Join(out, " ")
}

// mountHugePages mounts huge pages of the node into the first container. Kubernetes reserves them for this pod, and leaves the pod pending
// if there are fewer. Servers that outlive the pod keep their pages, which QEMU has open.
// https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/
func mountHugePages(pod *corev1.PodSpec, pages []hypervisorv1.HugePages) {
	c := &pod.Containers[0]
	for _, p := range pages {
		volume, medium := "pages-"+strings.ToLower(p.Size), corev1.StorageMediumHugePagesPrefix+corev1.StorageMedium(p.Size)
		name, amount := corev1.ResourceName(corev1.ResourceHugePagesPrefix+p.Size), resource.MustParse(p.Size)
		amount.Mul(int64(p.Count))
		c.Resources.Requests[name], c.Resources.Limits[name] = amount, amount
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/dev/hugepages-" + p.Size})
		pod.Volumes = append(pod.Volumes, corev1.Volume{
			Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium, SizeLimit: &amount}},
		})
	}
}
