package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

const (
	portName    = "api"
	passwordEnv = "DATABASE_PASSWORD"
	// Names of volumes and of the folders in which they are mounted.
	databaseCA = "database-ca"
	queueCA    = "queue-ca"
	identityCA = "identity-ca"
	serverTLS  = "tls"
)

// UserID is the numeric ID of the user in the images.
const UserID = 42424

// syncWait makes reads from another member of a Galera cluster return data that was just written
// (https://mariadb.com/docs/galera-cluster/reference/galera-cluster-system-variables#wsrep_sync_wait).
const syncWait = "&init_command=SET+SESSION+wsrep_sync_wait%3D1"

// BarePod returns a pod with the service's image and access to the databases and the queue, without configuration files.
func (s *Service) BarePod(image string, command []string) workload.Pod {
	return s.barePod(image, command, s.Queue)
}

func (s *Service) barePod(image string, command []string, queue bool) workload.Pod {
	db := s.Spec.Database
	var env []corev1.EnvVar
	if len(s.Databases) > 0 {
		env = append(env, workload.SecretEnv(passwordEnv, s.Sub("database"), secret.PasswordKey))
	}
	for _, d := range s.Databases {
		user, schema := db.NameOf(s.user()), db.NameOf(s.schemaName(d))
		url := mariadb.URL(user, passwordEnv, db.Host, db.Port, schema, s.Path(databaseCA, string(db.CASecretRef.Key)))
		if db.Galera && d.NoWsrepSyncWait {
			url += syncWait
		}
		env = append(env, corev1.EnvVar{Name: oslo.MustEnvName(d.Group, "connection"), Value: url})
	}
	if queue {
		env = append(env, s.queueEnv()...)
	}
	p := workload.Pod{
		UserID: UserID,
		Containers: []corev1.Container{{
			Name:    s.App,
			Image:   image,
			Command: command,
			Env:     env,
		}},
	}
	for _, v := range s.extension.Pods.Volumes {
		v.mount(&p)
	}
	if len(s.Databases) > 0 {
		s.SecretVolume(databaseCA, string(db.CASecretRef.Name), string(db.CASecretRef.Key)).mount(&p)
	}
	if queue {
		ca := s.Spec.Queue.CASecretRef
		s.SecretVolume(queueCA, string(ca.Name), string(ca.Key)).mount(&p)
	}
	return p
}

// Pod returns a BarePod with configuration files.
func (s *Service) Pod(image string, f Files, command []string) workload.Pod {
	return s.addFiles(s.BarePod(image, command), f)
}

// addFiles mounts the configuration files in a pod.
func (s *Service) addFiles(p workload.Pod, f Files) workload.Pod {
	c := &p.Containers[0]
	var mounted []string
	if !s.WithoutOsloConfig {
		mounted = append(mounted, s.configFile(), PolicyFile)
	}
	for _, page := range s.extension.Config.Files {
		if !page.External {
			mounted = append(mounted, page.Name)
		}
	}
	s.mountConfig(c, mounted...)
	p.Volumes = append(p.Volumes, workload.ConfigVolume("config", f.Name))
	for _, v := range s.extension.Pods.ConfigVolumes {
		v.mount(&p)
	}
	return p
}

// mountConfig mounts files of the ConfigMap into the service's folder.
func (b *Base) mountConfig(c *corev1.Container, files ...string) {
	for _, file := range files {
		c.VolumeMounts = append(c.VolumeMounts, workload.MountFile("config", b.Path(file), file))
	}
}

// JobPod returns a pod for the service's Jobs, which run its command line tools. It has no account on the queue, unless the tools read it.
func (s *Service) JobPod(image string, f Files, command []string) workload.Pod {
	p := s.addFiles(s.barePod(image, command, s.extension.Jobs.Queue), f)
	p.RestartPolicy = corev1.RestartPolicyNever
	for _, v := range s.extension.Jobs.Volumes {
		v.mount(&p)
	}
	c := &p.Containers[0]
	replaced := map[string]bool{}
	for _, e := range s.extension.Jobs.Env {
		replaced[e.Name] = true
	}
	if replaced[transportURL] { // Nothing else reads the account in the address.
		replaced[queueUserEnv], replaced[queuePasswordEnv] = true, true
	}
	c.Env = append(slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return replaced[e.Name] }), s.extension.Jobs.Env...)
	return p
}

// Unmount removes volumes that the program of a pod does not read.
func Unmount(p *workload.Pod, names ...string) {
	c := &p.Containers[0]
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return slices.Contains(names, m.Name) })
	p.Volumes = slices.DeleteFunc(p.Volumes, func(v corev1.Volume) bool { return slices.Contains(names, v.Name) })
}

// DatabaseCAFolder returns the folder with the CA of the database, which every pod with access to the database has.
func (b *Base) DatabaseCAFolder() string { return b.Path(databaseCA) }

// LogIn adds the credential and the CA with which a pod logs in to Keystone, for option groups.
func (s *Service) LogIn(p *workload.Pod, groups ...string) {
	s.IdentityCA().mount(p)
	for _, group := range groups {
		p.Containers[0].Env = append(p.Containers[0].Env, s.AuthEnv(group)...)
	}
}

// IdentityCA returns the volume with the CA of Keystone's internal endpoint, which is also the CA of the other services.
// Pods that log in mount it.
func (b *Base) IdentityCA() Volume {
	ca := b.Spec.Identity.CASecretRef
	return b.SecretVolume(identityCA, string(ca.Name), string(ca.Key))
}

// TrustedFile returns the path of that CA, in pods that log in or look up services in Keystone.
func (b *Base) TrustedFile() string {
	return b.Path(identityCA, string(b.Spec.Identity.CASecretRef.Key))
}

// ServerPod returns the pod of the API without the settings that let clients connect to it (ServeFromContainer).
func (s *Service) ServerPod() workload.Pod {
	p := s.Pod(s.Image, s.Files, []string{"uwsgi", "--ini", s.Path(UWSGIFile)})
	s.mountConfig(&p.Containers[0], UWSGIFile, workload.HealthFile)
	s.useCache(&p.Containers[0], true)
	p.GraceSeconds = workload.Grace(s.TerminationGracePeriod)
	p.Annotations = s.extension.Pods.Annotations
	if s.registered() {
		s.LogIn(&p, append([]string{authToken}, s.extension.Keystone.Logins...)...)
	} else if s.Spec.Identity != nil {
		s.IdentityCA().mount(&p)
	}
	if s.Queue {
		p.Containers[0].Env = append(p.Containers[0].Env, s.processName("api"))
	}
	p.Volumes = append(p.Volumes, workload.SecretVolume(serverTLS, s.Sub(serverTLS), certificate.CertKey, certificate.KeyKey))
	for _, v := range s.extension.API.Volumes {
		v.mount(&p)
	}
	p.Containers[0].Env = append(p.Containers[0].Env, s.extension.API.Env...)
	return p
}

// APIPod returns the pod of an API whose own process serves clients.
func (s *Service) APIPod() workload.Pod {
	p := s.ServerPod()
	s.ServeFromContainer(&p.Containers[0])
	workload.Health(&p.Containers[0], s.Answers())
	return p
}

// ServeFromContainer lets a container of the API's pod serve the clients with HTTPS.
func (b *Base) ServeFromContainer(c *corev1.Container) {
	c.VolumeMounts = append(c.VolumeMounts, workload.Mount(serverTLS, b.Path(serverTLS)))
	c.Ports = []corev1.ContainerPort{{Name: portName, ContainerPort: b.Port}}
	workload.Drain(c)
}

// Answers returns a health check that needs no authentication and succeeds once the application works.
func (b *Base) Answers() workload.Check {
	check := workload.HTTPS(portName, b.HealthPath)
	if b.RequiresHostHeader {
		check = check.At(b.InternalHost())
	}
	return check
}

// mount adds the volume to a pod, and its mount to the main container.
func (v Volume) mount(p *workload.Pod) {
	p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{
		Name: v.Name, MountPath: v.Folder, ReadOnly: !v.Writable,
	})
	if v.VolumeSource != (corev1.VolumeSource{}) {
		p.Volumes = append(p.Volumes, v.Volume)
	}
}
