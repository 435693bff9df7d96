// Command mariadb-operator is the part of MariaDB's operator that creates and restores backups, without its controllers:
//
//	mariadb-operator backup …                the command of its image in the Jobs of a backup
//	mariadb-operator backup-job  <objects    the Job that it creates for a PhysicalBackup and its MariaDB
//	mariadb-operator restore-job <objects    the Job that it creates for a MariaDB that starts from a backup
//
// Objects are in the operator's format, as JSON, one after the other. Jobs are written as JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mariadb-operator/mariadb-operator/v25/api/v1alpha1"
	"github.com/mariadb-operator/mariadb-operator/v25/cmd/backup"
	"github.com/mariadb-operator/mariadb-operator/v25/pkg/builder"
	"github.com/mariadb-operator/mariadb-operator/v25/pkg/discovery"
	"github.com/mariadb-operator/mariadb-operator/v25/pkg/environment"
	operatortime "github.com/mariadb-operator/mariadb-operator/v25/pkg/time"
	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// images that the operator is configured with.
const operatorImage, serverImage = "mariadb-operator", "mariadb"

func main() {
	logf.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	root := &cobra.Command{Use: "mariadb-operator", SilenceUsage: true}
	root.PersistentFlags().String("log-level", "info", "")
	root.PersistentFlags().String("log-time-encoder", "epoch", "")
	root.PersistentFlags().Bool("log-dev", false, "")
	root.AddCommand(backup.RootCmd,
		&cobra.Command{Use: "backup-job", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return write(backupJob) }},
		&cobra.Command{Use: "restore-job", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return write(restoreJob) }})
	if root.Execute() != nil {
		os.Exit(1)
	}
}

// write writes the Job that is made of the objects on the standard input.
func write(build func(*builder.Builder, *v1alpha1.MariaDB, *v1alpha1.PhysicalBackup) (*batchv1.Job, error)) error {
	m, b, err := read(os.Stdin)
	if err != nil {
		return fmt.Errorf("cannot read the objects: %w", err)
	}
	env := &environment.OperatorEnv{MariadbOperatorImage: operatorImage, RelatedMariadbImage: serverImage}
	if err := m.SetDefaults(env); err != nil {
		return fmt.Errorf("cannot fill in the defaults of MariaDB %s: %w", m.Name, err)
	}
	scheme := runtime.NewScheme()
	resources, err := discovery.NewFakeDiscovery()
	if err := errors.Join(err, clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	job, err := build(builder.NewBuilder(scheme, env, resources), m, b)
	if err != nil {
		return err
	}
	job.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	return json.NewEncoder(os.Stdout).Encode(job)
}

// read reads a MariaDB and an optional PhysicalBackup. Fields that the operator does not have are errors.
func read(in io.Reader) (*v1alpha1.MariaDB, *v1alpha1.PhysicalBackup, error) {
	m, b := &v1alpha1.MariaDB{}, &v1alpha1.PhysicalBackup{}
	for objects := json.NewDecoder(in); ; {
		object := map[string]any{}
		switch err := objects.Decode(&object); {
		case errors.Is(err, io.EOF) && m.Name == "":
			return nil, nil, errors.New("there is no MariaDB among them")
		case errors.Is(err, io.EOF):
			return m, b, nil
		case err != nil:
			return nil, nil, err
		}
		into := map[any]any{"MariaDB": m, "PhysicalBackup": b}[object["kind"]]
		if into == nil {
			return nil, nil, fmt.Errorf("kind %v is of no use here", object["kind"])
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, into, true); err != nil {
			return nil, nil, err
		}
	}
}

func backupJob(created *builder.Builder, m *v1alpha1.MariaDB, b *v1alpha1.PhysicalBackup) (*batchv1.Job, error) {
	if err := b.Validate(); err != nil {
		return nil, fmt.Errorf("PhysicalBackup %s: %w", b.Name, err)
	}
	b.SetDefaults(m)
	b.Spec.RestartPolicy = corev1.RestartPolicyOnFailure // a default that the API server fills in
	extension, err := b.Spec.Compression.Extension()
	if err != nil {
		return nil, err
	}
	// The controller names Job and file like this.
	now := operatortime.Format(time.Now())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m.Name + "-0"}, Spec: corev1.PodSpec{NodeName: "node"}}
	return created.BuildPhysicalBackupJob(types.NamespacedName{Namespace: b.Namespace, Name: b.Name + "-" + now}, b, m, pod,
		fmt.Sprintf("physicalbackup-%s.xb.%s", now, extension))
}

func restoreJob(created *builder.Builder, m *v1alpha1.MariaDB, _ *v1alpha1.PhysicalBackup) (*batchv1.Job, error) {
	if m.Spec.BootstrapFrom == nil {
		return nil, fmt.Errorf("MariaDB %s starts from no backup", m.Name)
	}
	return created.BuildPhysicalBackupRestoreJob(m.PhysicalBackupInitJobKey(0), m, new(int), builder.WithBootstrapFrom(m.Spec.BootstrapFrom))
}
