// Command hostpath-provisioner makes volumes for a cluster of one node: a folder below $ROOT for each, mounted as a hostPath.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// name is the name of the provisioner in a StorageClass.
const name = "cobaltcore.test/hostpath"

// folder holds all volumes.
type folder string

// Provision makes a volume. A hostPath takes no notice of fsGroup, so every user has to be able to write to it.
func (f folder) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	dir := filepath.Join(string(f), o.PVName)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	if err := os.Chmod(dir, 0o777); err != nil { // Independent of the umask.
		return nil, controller.ProvisioningFinished, err
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes a volume and its content.
func (f folder) Delete(_ context.Context, v *corev1.PersistentVolume) error {
	return os.RemoveAll(filepath.Join(string(f), v.Name))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "hostpath-provisioner:", err)
		os.Exit(1) //nolint:gocritic // No cleanup is required.
	}
}

func run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	controller.NewProvisionController(ctx, set, name, folder(os.Getenv("ROOT")), controller.LeaderElection(false)).Run(ctx)
	return nil
}
