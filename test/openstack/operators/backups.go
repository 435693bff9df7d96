//go:build linux

package operators

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OperatorImage is the image of MariaDB's operator in the Jobs that it makes.
const OperatorImage = "mariadb-operator"

// Backups and restores are Jobs that the real operator's code creates from the objects (hack/tools/mariadb-operator).
// They run the program of its image, and MariaDB's tools. Their schedule is faked: a backup runs when its object is new
// or changed, a restore when a server with bootstrapFrom has no data.

// physicalBackup creates a backup immediately.
func (o *Operators) physicalBackup(ctx context.Context, u *unstructured.Unstructured) error {
	server, err := o.Find("MariaDB.k8s.mariadb.com", u.GetNamespace(), text(u, "spec", "mariaDbRef", "name"))
	if err != nil {
		return err
	}
	return o.operatorJob(ctx, "backup-job", server, u)
}

// restore restores the backup from which a server starts into its data folder.
func (o *Operators) restore(ctx context.Context, server *unstructured.Unstructured) error {
	return o.operatorJob(ctx, "restore-job", server)
}

// operatorJob runs the Job that the operator creates from objects.
func (o *Operators) operatorJob(ctx context.Context, which string, objects ...*unstructured.Unstructured) error {
	in, job := &bytes.Buffer{}, &batchv1.Job{}
	for _, u := range objects {
		if err := json.NewEncoder(in).Encode(u); err != nil {
			return err
		}
	}
	out, problems := &bytes.Buffer{}, &bytes.Buffer{}
	cmd := exec.CommandContext(ctx, o.mariaDBOperator, which)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, problems
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the operator makes no Job of it: %w\n%s", err, problems)
	}
	if err := json.Unmarshal(out.Bytes(), job); err != nil {
		return err
	}
	job.OwnerReferences = nil // to objects that the cluster has no types for
	restrict(&job.Spec.Template.Spec)
	return o.RunJob(ctx, job)
}

// restrict gives containers a read-only root, the only supported kind, and a folder for temporary files.
func restrict(pod *corev1.PodSpec) {
	const name = "tmp"
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			containers[i].SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
			containers[i].VolumeMounts = append(containers[i].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/tmp"})
		}
	}
}

// LoseDatabase stops a server and deletes its data.
func (o *Operators) LoseDatabase(ctx context.Context, namespace, name string) error {
	set, key := &appsv1.StatefulSet{}, client.ObjectKey{Namespace: namespace, Name: name}
	if err := o.Cluster.Patch(ctx, key, set, func() { set.Spec.Replicas = new(int32(0)) }); err != nil {
		return err
	}
	err := o.Cluster.Wait(ctx, Timeout, "the end of the database", func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-0"}, &corev1.Pod{})
		return err != nil, client.IgnoreNotFound(err)
	})
	return errors.Join(err, os.RemoveAll(o.Cluster.ClaimDir(namespace, dataClaim(name))))
}
